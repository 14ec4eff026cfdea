package disk

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Child is a file with its content, or a directory with the files below it.
type Child struct {
	IsDir   bool
	Content []byte  // the content of a file
	Entries []Entry // the entries of a directory, as ListFiles returns them, with contents
}

// Children reads files and directories in one scan of the directory that contains them. The result omits names that the
// scan does not show completely, or that have more than size bytes. Children stops early if the directory has many
// other entries.
func Children(dir string, names map[string]bool, size int) map[string]*Child {
	c := children{names: names, size: size, found: map[string]*Child{}}
	options := scan.Options{Depth: scan.MaxDepth, Match: []string{"*"}, Skip: reservedPatterns, Strict: true, MaxFile: MaxFile}
	for e, err := range scan.Dir(dir, options) {
		if err != nil {
			c.child = nil // the current child may be incomplete
			break
		}
		if c.add(e); c.otherEntries > 1000+4*len(names) || c.otherBytes > size {
			break
		}
	}
	c.finish()
	return c.found
}

type children struct {
	names map[string]bool
	size  int
	found map[string]*Child

	name                     string // name of the current child
	child                    *Child // nil if it is not in names, or cannot be completed
	left, items              int    // remaining bytes of the current child; number of its entries
	otherEntries, otherBytes int    // entries that are not in names, and their bytes
}

func (c *children) add(e scan.Entry) {
	name, rel, nested := strings.Cut(e.Path, "/")
	if !c.names[name] || IsReservedName(name) {
		c.otherEntries++
		c.otherBytes += len(e.Data)
		return
	}
	if !nested {
		c.finish()
		c.name, c.left, c.items = name, c.size-len(e.Data), 0
		switch {
		case e.Type.IsDir() && e.State == scan.OK:
			c.child = &Child{IsDir: true}
		case e.Data != nil:
			c.child = &Child{Content: bytes.Clone(e.Data)} // e.Data keeps the data of other entries in memory
		}
		return
	}
	if c.child == nil {
		return
	}
	c.left -= len(e.Data)
	c.items++
	isUnlisted := e.Type.IsDir() && (e.State != scan.OK || strings.Count(e.Path, "/") >= scan.MaxDepth-1)
	switch {
	case isReserved(rel):
	case isUnlisted || c.left < 0 || c.items > maxItems:
		c.child = nil
	case e.IsRegular():
		c.child.Entries = append(c.child.Entries, Entry{Path: rel, Content: bytes.Clone(e.Data)})
	case e.Type == fs.ModeSymlink:
		c.child.Entries = append(c.child.Entries, Entry{Path: rel, Link: true})
	}
}

// finish completes the current child.
func (c *children) finish() {
	if c.child != nil {
		slices.SortFunc(c.child.Entries, compareEntries)
		c.found[c.name] = c.child
	}
	c.child = nil
}
