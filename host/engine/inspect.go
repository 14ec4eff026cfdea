package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CacheReport is what is in a compilation cache.
type CacheReport struct {
	Modules int      // whose code is kept
	Size    int64    // bytes of all files
	Damaged []string // folders whose files are not as they were written; a host makes them anew
}

// InspectCache reads all that is kept in the cache in dir and changes nothing. A cache that is not there is
// an empty one.
func InspectCache(ctx context.Context, dir string) (CacheReport, error) {
	var r CacheReport
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
		if !strings.HasPrefix(item.Name(), "code-") {
			continue // of a compiler that is at work, or of nobody
		}
		r.Modules++
		if verify(path) != nil {
			r.Damaged = append(r.Damaged, path)
		}
	}
	return r, nil
}

// sizeOf is how much a file, or all that is in a folder, takes. What goes meanwhile counts for nothing.
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
