package code

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Report is what is in a cache.
type Report struct {
	Modules int      // whose code is kept
	Size    int64    // bytes of all files
	Damaged []string // directories whose files are not as they were written; a host compiles them again
}

// Inspect reads all that is kept in the cache in dir and changes nothing. A directory that does not exist is an empty
// cache.
func Inspect(ctx context.Context, dir string) (Report, error) {
	var r Report
	items, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		path := filepath.Join(dir, item.Name())
		r.Size += sizeOf(path)
		if !strings.HasPrefix(item.Name(), entryPrefix) {
			continue // of a compiler that is at work, a lock, or not the host's
		}
		r.Modules++
		if !sound(path) {
			r.Damaged = append(r.Damaged, path)
		}
	}
	return r, nil
}

// sizeOf is how much a file, or all that is in a directory, takes. What goes meanwhile counts for nothing.
func sizeOf(path string) int64 {
	var size int64
	_ = filepath.WalkDir(path, func(_ string, item fs.DirEntry, err error) error {
		if err == nil && item.Type().IsRegular() {
			if info, ierr := item.Info(); ierr == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
