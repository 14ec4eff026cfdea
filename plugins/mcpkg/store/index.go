package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// entry is an item as its file's name tells of it: all that has to be unique in a project, and the order,
// so that neither takes opening a file.
type entry struct {
	number uint64 // counts the items that were ever created
	kind   item.Kind
	name   string // key of the name
	uri    string // key of a resource's URI
	staged bool   // an import put it in and has not ended
}

// maxNumber is the highest number that fits in a file's name.
const maxNumber = 9_999_999_999

var entryPattern = regexp.MustCompile(`^([0-9]{10})-(?:(prompt)-([0-9a-f]{64})|resource-([0-9a-f]{64})-([0-9a-f]{64}))\.item$`)

func (e entry) file() string {
	if e.kind == item.Prompt {
		return fmt.Sprintf("%010d-prompt-%s.item", e.number, e.name)
	}
	return fmt.Sprintf("%010d-resource-%s-%s.item", e.number, e.name, e.uri)
}

func parseEntry(file string) (entry, bool) {
	m := entryPattern.FindStringSubmatch(file)
	if m == nil {
		return entry{}, false
	}
	number, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return entry{}, false
	}
	if m[2] != "" {
		return entry{number: number, kind: item.Prompt, name: m[3]}, true
	}
	return entry{number: number, kind: item.Resource, name: m[4], uri: m[5]}, true
}

func (e entry) sameName(other entry) bool { return e.kind == other.kind && e.name == other.name }

func (e entry) sameURI(other entry) bool { return e.uri != "" && e.uri == other.uri }

// index is what a project holds, in the order in which it was created.
type index []entry

// readIndex looks into the project's folder. A finished import counts although its files may not be at
// their places yet: it is looked at first, since files move only from there.
func (p *Project) readIndex() (index, error) {
	var found index
	for _, dir := range []string{p.importDir(), p.itemsDir()} {
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, file := range files {
			e, ok := parseEntry(file.Name())
			if !ok {
				if !strings.HasPrefix(file.Name(), ".") {
					p.warn(fmt.Sprintf("%s in %s is not a file of the store", strconv.Quote(file.Name()), dir))
				}
				continue
			}
			e.staged = dir == p.importDir()
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return strings.Compare(a.file(), b.file()) })
	return p.withoutTwins(found), nil
}

// withoutTwins leaves out the files that claim what an earlier one has. A staged one and the one that it
// replaces have the same file name, and the staged one is the first.
func (p *Project) withoutTwins(found index) index {
	names, uris := map[string]string{}, map[string]string{}
	kept := found[:0]
	for _, e := range found {
		file, name := e.file(), string(e.kind)+e.name
		first, twin := names[name]
		if !twin && e.uri != "" {
			first, twin = uris[e.uri]
		}
		if twin {
			if first != file {
				p.warn(fmt.Sprintf("%s is left out: %s has its name or URI", file, first))
			}
			continue
		}
		names[name] = file
		if e.uri != "" {
			uris[e.uri] = file
		}
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
	return e, nil
}
