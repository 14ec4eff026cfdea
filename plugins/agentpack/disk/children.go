package disk

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Child is a file with its content, or a directory with the files below the directory.
type Child struct {
	IsDir   bool
	Content []byte  // the content, if the child is a file
	Entries []Entry // the files below the child with their contents, if the child is a directory; in the order of ListFiles
}

// Children reads the files and directories in names, which are all in the directory dir, in one scan of dir. The result
// omits a name if the scan does not show the file or directory completely, or if it has more than size bytes. Children
// stops early if dir has many other entries.
func Children(dir string, names map[string]bool, size int) map[string]*Child {
	c := children{names: names, size: size, found: map[string]*Child{}}
	options := scan.Options{Depth: scan.MaxDepth, Match: []string{"*"}, Skip: reservedPatterns, Strict: true, MaxFile: MaxFile}
	for e, err := range scan.Dir(dir, options) {
		if err != nil {
			c.child = nil // the scan ended early, so the current child may be incomplete
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

	name                     string // the name of the current child
	child                    *Child // the current child; nil if its name is not in names, or if it cannot be read completely
	left, items              int    // the bytes that the current child may still have, and the number of its entries so far
	otherEntries, otherBytes int    // the number of entries that are not in names, and the number of bytes of these entries
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
			c.child = &Child{Content: bytes.Clone(e.Data)} // a copy, because e.Data shares its memory with the data of other entries
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

// finish adds the current child to the found children.
func (c *children) finish() {
	if c.child != nil {
		slices.SortFunc(c.child.Entries, compareEntries)
		c.found[c.name] = c.child
	}
	c.child = nil
}
