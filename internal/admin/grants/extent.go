package grants

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
)

// Bounds of the entries that are counted.
const (
	maxCounted = 5000   // of one directory, with those below it
	maxTotal   = 50_000 // of all directories of a Picture
)

// Extent is how much is in a directory, what is hidden from plugins included. Symbolic links are counted as files, and not followed.
type Extent struct {
	Files, Directories int
	More               bool // whether not all entries were counted
}

// String says it in words; empty if nothing is known.
func (e Extent) String() string {
	switch e {
	case Extent{}:
		return ""
	case Extent{More: true}:
		return "not counted"
	}
	words := chart.Counted(e.Files, "file", "files")
	if e.Directories > 0 {
		words += " in " + chart.Counted(e.Directories+1, "directory", "directories")
	}
	if e.More {
		words = "more than " + words
	}
	return words
}

// extents are those of the directories that were counted.
type extents struct {
	known map[string]Extent // by path
	left  int               // how many entries can be counted until maxTotal
}

func newExtents() *extents { return &extents{map[string]Extent{}, maxTotal} }

// of returns the Extent of a directory; the zero value if it cannot be read.
func (all *extents) of(ctx context.Context, path string) Extent {
	e, known := all.known[path]
	if !known {
		e.count(ctx, path, min(maxCounted, all.left))
		all.known[path] = e
		all.left -= e.Files + e.Directories
	}
	return e
}

// count adds what is in a directory, until e has most entries.
func (e *Extent) count(ctx context.Context, dir string, most int) {
	if e.More = e.More || ctx.Err() != nil || most == 0; e.More {
		return
	}
	for _, path := range e.countEntries(dir, most) {
		e.count(ctx, path, most)
	}
}

// countEntries adds the entries of a directory, until e has most, and returns the directories among them.
func (e *Extent) countEntries(dir string, most int) (below []string) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a plugin may have put a FIFO in its place
	if err != nil {
		return nil
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(512)
		for _, entry := range entries {
			if e.Files+e.Directories == most {
				e.More = true
				return nil
			}
			if entry.IsDir() {
				e.Directories++
				below = append(below, filepath.Join(dir, entry.Name()))
			} else {
				e.Files++
			}
		}
		if err != nil { // also at the end
			return below
		}
	}
}
