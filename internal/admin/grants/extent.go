package grants

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
)

// maxCounted bounds the entries that are counted of one directory, with those below it.
const maxCounted = 5000

// Extent is how much is in a directory, what is hidden from plugins included. Symbolic links are counted as files, and not followed.
type Extent struct {
	Files, Directories int
	More               bool // whether only maxCounted entries were counted
}

// String says it in words; empty if nothing is known.
func (e Extent) String() string {
	if e == (Extent{}) {
		return ""
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

// extents are those of the directories that were counted, by path.
type extents map[string]Extent

// of returns the Extent of a directory; the zero value if it cannot be read.
func (all extents) of(ctx context.Context, path string) Extent {
	e, known := all[path]
	if !known {
		e.count(ctx, path)
		all[path] = e
	}
	return e
}

// count adds what is in a directory.
func (e *Extent) count(ctx context.Context, dir string) {
	if e.More = e.More || ctx.Err() != nil; e.More {
		return
	}
	for _, path := range e.countEntries(dir) {
		e.count(ctx, path)
	}
}

// countEntries adds the entries of a directory, and returns the directories among them.
func (e *Extent) countEntries(dir string) (below []string) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a plugin may have put a FIFO in its place
	if err != nil {
		return nil
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(512)
		for _, entry := range entries {
			if e.Files+e.Directories == maxCounted {
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
