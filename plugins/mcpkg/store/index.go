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

// entry is the part of an item that the name of the item's file encodes: position, kind, name and URI. With these
// fields the store finds duplicates without opening a file.
type entry struct {
	file   string // the file name, which encodes the fields number, kind, name and uri
	number uint64 // the item's position in the order of creation
	kind   item.Kind
	name   string // key(name), the hash of the item's name
	uri    string // key(uri), the hash of a resource's URI; "" for a prompt
	staged bool   // the file is in the directory of an unfinished import
}

// maxNumber is the highest value of entry.number that fits in a file's name.
const maxNumber = 9_999_999_999

// The parts of the name of an item's file. The name has the form 0000000001-prompt-KEY.item or
// 0000000001-resource-KEY-KEY.item.
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

// parseEntry parses the name of an item's file. It returns false if the name has another form.
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
	return len(text) == keySize && strings.Trim(text, "0123456789abcdef") == ""
}

// claim is an identifier that only one entry of a project may have: either a name together with a kind, or a URI.
type claim struct {
	kind item.Kind // "" if the claim is a URI
	key  string
}

// claims returns the identifiers of an entry that no other entry may have: the name, and for a resource also the URI.
func (e entry) claims() []claim {
	if e.uri == "" {
		return []claim{{e.kind, e.name}}
	}
	return []claim{{e.kind, e.name}, {"", e.uri}}
}

// index holds the entries of a project.
type index struct {
	entries []entry // all entries, in the order of creation
	claimed map[claim]entry
}

// add appends e, which must have a higher number than all entries of the index.
func (ix *index) add(e entry) {
	ix.entries = append(ix.entries, e)
	for _, c := range e.claims() {
		ix.claimed[c] = e
	}
}

// scan reads the directory of an unfinished import first, and the project's directory second. In this order it finds a
// file that another process moves concurrently at least once. It returns the items in both directories, and the
// temporary files of interrupted calls.
func (p *Project) scan() (ix *index, left []os.DirEntry, err error) {
	var found []entry
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
				p.warn(fmt.Sprintf("%s in %s is ignored: it is not a file of the store", strconv.Quote(name), dir))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return strings.Compare(a.file, b.file) })
	return p.withoutDuplicates(found), left, nil
}

// readIndex returns the index of the project's entries; an empty index if the project does not exist.
func (p *Project) readIndex() (*index, error) {
	if there, err := p.Exists(); err != nil || !there {
		return &index{}, err
	}
	ix, _, err := p.scan()
	return ix, err
}

// withoutDuplicates returns an index of those found entries that do not have the name or the URI of an earlier entry. A
// staged file precedes the file that it replaces, because found has the entries of the import directory first.
func (p *Project) withoutDuplicates(found []entry) *index {
	ix := &index{entries: make([]entry, 0, len(found)), claimed: make(map[claim]entry, 2*len(found))}
	for _, e := range found {
		first, err := ix.conflict(e)
		switch {
		case err == nil:
			ix.add(e)
		case first.file != e.file:
			p.warn(fmt.Sprintf("%s in %s is ignored: %s has the same name or URI", e.file, p.dir, first.file))
		}
	}
	return ix
}

// conflict returns the entry of the index that has the same name (ErrNameTaken) or the same URI (ErrURITaken) as e.
func (ix *index) conflict(e entry) (entry, error) {
	for i, c := range e.claims() {
		if other, claimed := ix.claimed[c]; claimed {
			return other, []error{ErrNameTaken, ErrURITaken}[i]
		}
	}
	return entry{}, nil
}

// find returns the entry of the item with the given kind and name.
func (ix *index) find(kind item.Kind, name string) (entry, bool) {
	e, ok := ix.claimed[claim{kind, key(name)}]
	return e, ok
}

// findURI returns the entry of the resource with the given URI.
func (ix *index) findURI(uri string) (entry, bool) {
	e, ok := ix.claimed[claim{"", key(uri)}]
	return e, ok
}

// place returns the entry for a new item. If another entry has the same name (ErrNameTaken) or URI (ErrURITaken), place
// returns that other entry. The error is ErrFull if the project has MaxItems items.
func (ix *index) place(it item.Item) (entry, error) {
	e := entry{kind: it.Kind, name: key(it.Name)}
	if it.Kind == item.Resource {
		e.uri = key(it.URI)
	}
	if other, err := ix.conflict(e); err != nil {
		return other, err
	}
	count := len(ix.entries)
	if count >= MaxItems {
		return entry{}, ErrFull
	}
	if count > 0 {
		e.number = ix.entries[count-1].number
	}
	if e.number++; e.number > maxNumber {
		return entry{}, fmt.Errorf("the last item has the highest possible number, %d: export the project and import it into a new one", maxNumber)
	}
	e.file = e.fileName()
	return e, nil
}
