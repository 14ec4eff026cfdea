package code

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

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
