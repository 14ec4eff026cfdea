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

// entry is an item as its file's name tells of it: all that has to be unique in a project, and the order,
// so that neither takes opening a file.
type entry struct {
	file   string // number, kind, name and uri as fileName writes them
	number uint64 // counts the items that were ever created
	kind   item.Kind
	name   string // key of the name
	uri    string // key of a resource's URI
	staged bool   // an import put it in and has not ended
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

// parseEntry reads a file's name; false if it is none of an item's.
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

// index is what a project holds, in the order in which it was created.
type index []entry

// scan looks into the project's folder: what it holds, and what calls have left there that were ended in the
// middle. A finished import counts although its files may not be at their places yet: it is looked at first,
// since files move only from there.
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
	return p.withoutTwins(found), left, nil
}

// readIndex returns what the project holds.
func (p *Project) readIndex() (index, error) {
	ix, _, err := p.scan()
	return ix, err
}

// withoutTwins leaves out the files that claim what an earlier one has. A staged one and the one that it
// replaces have the same file name, and the staged one is the first.
func (p *Project) withoutTwins(found index) index {
	type claim struct {
		kind item.Kind // "" for a URI
		key  string
	}
	claimed := make(map[claim]string, 2*len(found))
	kept := found[:0]
	for _, e := range found {
		name, uri := claim{e.kind, e.name}, claim{"", e.uri}
		first, twin := claimed[name]
		if !twin && e.uri != "" {
			first, twin = claimed[uri]
		}
		if twin {
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

// find returns the entry of a name.
func (ix index) find(kind item.Kind, name string) (entry, bool) {
	wanted := entry{kind: kind, name: key(name)}
	at := slices.IndexFunc(ix, wanted.sameName)
	if at < 0 {
		return entry{}, false
	}
	return ix[at], true
}

// findURI returns the entry of the resource with that URI.
func (ix index) findURI(uri string) (entry, bool) {
	wanted := entry{uri: key(uri)}
	at := slices.IndexFunc(ix, wanted.sameURI)
	if at < 0 {
		return entry{}, false
	}
	return ix[at], true
}

// place returns the entry of a new item. The error is ErrFull, or the entry that is in its way has the
// name (ErrNameTaken) or the URI (ErrURITaken).
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
