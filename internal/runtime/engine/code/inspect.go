package code

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
)

// derivedDir is the directory of package derived in the cache directory.
const derivedDir = "derived"

// Entry is the compiled code of a module in a cache.
type Entry struct {
	Dir  string // its base name is EntryName of the module's digest
	Size int64  // bytes
	Used time.Time
}

// EntryName returns the name of the entry of the module whose file has the digest sum.
func EntryName(sum string) string { return entryPrefix + keyOf(sum) }

// List returns the entries of the cache in dir, without verifying them, in the order of their names. A missing directory is
// an empty cache.
func List(dir string) ([]Entry, error) {
	items, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Entry
	for _, item := range items {
		if !isEntry(item) {
			continue
		}
		path := filepath.Join(dir, item.Name())
		if used, err := usedAt(path); err == nil {
			all = append(all, Entry{Dir: path, Size: sizeOf(path), Used: used})
		}
	}
	return all, nil
}

// Remove removes the entry. It returns false if a process is compiling the module. Hosts may be running: if a worker does
// not find the code, its host compiles the module again. The empty directory remains until the next sweep, since a worker
// that is starting may have it as its root directory.
func (e Entry) Remove() (bool, error) {
	dir, name := filepath.Split(e.Dir)
	q := queue{dir: filepath.Clean(dir)}
	lock, err := q.tryLockEntry(strings.TrimPrefix(name, entryPrefix))
	if lock == nil || err != nil {
		return false, err
	}
	defer lock.unlock()
	gone := filepath.Join(q.dir, newPrefix+name)
	switch err := os.Rename(e.Dir, gone); {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil // another process has removed it
	case err != nil:
		return false, err
	}
	items, err := os.ReadDir(gone)
	if err != nil {
		return false, err
	}
	for _, item := range items {
		if err := tempdir.RemoveTree(filepath.Join(gone, item.Name())); err != nil {
			return false, err
		}
	}
	return true, nil
}

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
		if item.Name() == derivedDir {
			continue
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

// sizeOf returns the total size of the regular files at and below path. A file that is removed during the walk counts as 0.
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
