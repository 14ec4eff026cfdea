// Package testcache builds programs, modules and plugins once for the tests of all packages, and keeps them from one run to the
// next. Entries are addressed by the content of all that they are built from. They are stored below the cache
// of the go command, so that `GOCACHE=$(mktemp -d)` begins without them.
package testcache

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

// lifetime is how long an entry is kept after its last use. No test run takes as long, and each change of the program needs 200 MB.
const lifetime = 4 * time.Hour

// entry returns the directory with the key. If there is none, fill creates its content in a new directory, while other processes
// that need the entry wait.
func entry(key string, fill func(dir string) error) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, key)
	lock, err := filelock.Open(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	for {
		if free, err := filelock.Try(lock, filelock.Exclusive); err != nil {
			return "", err
		} else if free {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err == nil {
		return dir, nil
	}
	removeUnused(root)
	temporary, err := os.MkdirTemp(root, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temporary)
	if err := os.Chmod(temporary, 0o755); err != nil { // where it is linked to, other users may read it
		return "", err
	}
	if err := fill(temporary); err != nil {
		return "", err
	}
	if err := os.Rename(temporary, dir); err != nil {
		return "", err
	}
	return dir, nil
}

// root returns the directory of all entries. It stays the same when a test sets variables.
var root = sync.OnceValues(func() (string, error) {
	cache, err := goCache()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "bulkhead-tests")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(root)
})

// goCache returns the directory that the go command uses unless `go env -w` has set another, without starting it.
func goCache() (string, error) {
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "go-build"), err
}

// removeUnused removes what was not used for a long time, and what processes that were killed left. It is no error if it fails.
func removeUnused(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > lifetime {
			_ = os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
}
