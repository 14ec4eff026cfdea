package code

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Report describes a cache.
type Report struct {
	Modules int      // number of entries
	Size    int64    // total size of all files in bytes
	Damaged []string // directories of entries whose files do not match their digests; a host compiles them again
}

// Inspect reads and verifies all entries of the cache in dir without changing them. A missing directory is an empty cache.
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
			continue // an unfinished entry, a lock, or a file of another program
		}
		r.Modules++
		if !isIntact(path) {
			r.Damaged = append(r.Damaged, path)
		}
	}
	return r, nil
}

// sizeOf returns the total size of the regular files at and below path. Files that disappear meanwhile count as 0.
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
