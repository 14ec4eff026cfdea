package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// entry is the part of an item that is encoded in its file's name: the unique fields and the order, which can be
// checked without opening a file.
type entry struct {
	file   string // number, kind, name and uri as encoded by fileName
	number uint64 // the item's position in the order of creation
	kind   item.Kind
	name   string // key of the name
	uri    string // key of a resource's URI
	staged bool   // it is in the directory of an unfinished import
}

// maxNumber is the highest number that fits in a file's name.
const maxNumber = 9_999_999_999

// The parts of a file's name: 0000000001-prompt-KEY.item, 0000000001-resource-KEY-KEY.item.
const (
	digits         = 10
	keySize        = 2 * sha256.Size
	promptMiddle   = "-prompt-"
	resourceMiddle = "-resource-"
	fileEnd        = ".item"
)

func (e entry) fileName() string {
	if e.kind == item.Prompt {
		return fmt.Sprintf("%0*d%s%s%s", digits, e.number, promptMiddle, e.name, fileEnd)
	}
	return fmt.Sprintf("%0*d%s%s-%s%s", digits, e.number, resourceMiddle, e.name, e.uri, fileEnd)
}

// parseEntry parses a file's name; false if it is not that of an item.
func parseEntry(file string) (entry, bool) {
	if len(file) < digits {
		return entry{}, false
	}
	number, err := strconv.ParseUint(file[:digits], 10, 64)
	if err != nil {
		return entry{}, false
	}
	e := entry{file: file, number: number}
	rest, ended := strings.CutSuffix(file[digits:], fileEnd)
	if prompt, ok := strings.CutPrefix(rest, promptMiddle); ok {
		e.kind, e.name = item.Prompt, prompt
		return e, ended && isKey(e.name)
	}
	resource, ok := strings.CutPrefix(rest, resourceMiddle)
	e.kind = item.Resource
	e.name, e.uri, _ = strings.Cut(resource, "-")
	return e, ended && ok && isKey(e.name) && isKey(e.uri)
}

func isKey(text string) bool {
	if len(text) != keySize {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (e entry) sameName(other entry) bool { return e.kind == other.kind && e.name == other.name }

func (e entry) sameURI(other entry) bool { return e.uri != "" && e.uri == other.uri }

// index has the entries of a project in the order of creation.
type index []entry

// scan reads the project's directory: its items, and the temporary files of interrupted calls. Files of a committed
// import count although they may not have been moved yet: its directory is read first, since files move only out of it.
func (p *Project) scan() (found index, left []os.DirEntry, err error) {
	for _, dir := range []string{p.importDir(), p.dir} {
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		for _, file := range files {
			name := file.Name()
			if e, ok := parseEntry(name); ok {
				e.staged = dir == p.importDir()
				found = append(found, e)
				continue
			}
			switch {
			case atomicfile.IsTemporary(name, p.options()):
				left = append(left, file)
			case name != projectFile && name != importFolder && !strings.HasPrefix(name, "."):
				p.warn(fmt.Sprintf("%s in %s is not a file of the store", strconv.Quote(name), dir))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return strings.Compare(a.file, b.file) })
	return p.withoutDuplicates(found), left, nil
}

// readIndex returns the entries of the project.
func (p *Project) readIndex() (index, error) {
	ix, _, err := p.scan()
	return ix, err
}

// withoutDuplicates omits files with the name or URI of an earlier one. A staged file has the same file name as the one
// that it replaces, and comes first.
func (p *Project) withoutDuplicates(found index) index {
	type claim struct {
		kind item.Kind // "": a URI
		key  string
	}
	claimed := make(map[claim]string, 2*len(found))
	kept := found[:0]
	for _, e := range found {
		name, uri := claim{e.kind, e.name}, claim{"", e.uri}
		first, duplicate := claimed[name]
		if !duplicate && e.uri != "" {
			first, duplicate = claimed[uri]
		}
		if duplicate {
			if first != e.file {
				p.warn(fmt.Sprintf("%s is left out: %s has its name or URI", e.file, first))
			}
			continue
		}
		claimed[name], claimed[uri] = e.file, e.file
		kept = append(kept, e)
	}
	return kept
}

// find returns the entry with a name.
func (ix index) find(kind item.Kind, name string) (entry, bool) {
	wanted := entry{kind: kind, name: key(name)}
	at := slices.IndexFunc(ix, wanted.sameName)
	if at < 0 {
		return entry{}, false
	}
	return ix[at], true
}

// findURI returns the entry of the resource with a URI.
func (ix index) findURI(uri string) (entry, bool) {
	wanted := entry{uri: key(uri)}
	at := slices.IndexFunc(ix, wanted.sameURI)
	if at < 0 {
		return entry{}, false
	}
	return ix[at], true
}

// place returns the entry of a new item. If another entry has the name (ErrNameTaken) or the URI (ErrURITaken), it returns
// that one. The error can also be ErrFull.
func (ix index) place(it item.Item) (entry, error) {
	e := entry{kind: it.Kind, name: key(it.Name)}
	if it.Kind == item.Resource {
		e.uri = key(it.URI)
	}
	if at := slices.IndexFunc(ix, e.sameName); at >= 0 {
		return ix[at], ErrNameTaken
	}
	if at := slices.IndexFunc(ix, e.sameURI); at >= 0 {
		return ix[at], ErrURITaken
	}
	if len(ix) >= MaxItems {
		return entry{}, ErrFull
	}
	if len(ix) > 0 {
		e.number = ix[len(ix)-1].number
	}
	if e.number++; e.number > maxNumber {
		return entry{}, fmt.Errorf("no number above %d is left for an item", maxNumber)
	}
	e.file = e.fileName()
	return e, nil
}
