package code

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// isLinked reports whether path still names the open file.
func isLinked(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	want, err := os.Lstat(path)
	return err == nil && os.SameFile(have, want)
}

// poll calls try with exponential backoff until try succeeds or fails, or ctx ends. A blocking flock is not used, because it
// cannot be cancelled.
func poll(ctx context.Context, try func() (bool, error)) error {
	const longest = 40 * time.Millisecond
	for wait := time.Millisecond; ; wait = min(2*wait, longest) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// lockedDir is a directory owned by this process. Its lock shows other processes that the owner is alive.
type lockedDir struct {
	path string
	lock *os.File
}

// newLockedDir creates a directory in dir whose name begins with prefix.
func newLockedDir(dir, prefix string) (*lockedDir, error) {
	for {
		path, err := os.MkdirTemp(dir, prefix)
		if err != nil {
			return nil, err
		}
		lock, locked, err := lockDir(path)
		if locked {
			return &lockedDir{path, lock}, nil
		}
		if lock != nil {
			lock.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // sweepDead of another process may have removed the directory; then another one is created
			return nil, errors.Join(err, removeTree(path))
		}
	}
}

// remove removes the directory, unless it was renamed, and releases the lock.
func (d *lockedDir) remove() error {
	err := removeTree(d.path)
	return errors.Join(err, d.lock.Close(), forgetLock(d.path))
}

// sweepDead removes directories created by newLockedDir whose owners are dead.
func sweepDead(dir, prefix string) {
	paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !ownedByUser(info) {
			continue
		}
		lock, dead, _ := lockDir(path)
		if dead {
			_ = removeTree(path)
		}
		if lock != nil {
			lock.Close()
		}
		if dead {
			_ = forgetLock(path)
		}
	}
}

// removeTree removes a directory tree. A compiler may have created directories without permissions in it.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, item fs.DirEntry, _ error) error {
		if item != nil && item.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
