// Package tempdir creates temporary directories that do not outlive a killed process for long: each is locked by its owner, and Sweep,
// which the next process calls, removes those whose lock is free. Start with New, for a directory of the system's temporary files.
package tempdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a directory owned by this process. Its lock shows other processes that the owner is alive. Do not lock the directory itself.
type Dir struct {
	Path string
	lock *os.File
}

// prefix begins the names of all directories that New creates for the user. The user's ID keeps those of several users apart in /tmp.
const prefix = "bulkhead-"

func suffix() string { return fmt.Sprintf("-%d-", os.Getuid()) }

// New creates a directory for temporary files of the given kind, such as "dev", in the system's directory for them. Its path is resolved,
// since a sandbox accepts no other. New first removes directories that killed processes have left, of any kind.
func New(kind string) (*Dir, error) {
	Sweep()
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, err
	}
	return In(parent, prefix+kind+suffix())
}

// Sweep removes directories that New created in processes that were killed.
func Sweep() { SweepIn(os.TempDir(), prefix+"*"+suffix()) }

// In creates a directory in parent whose name begins with prefix.
func In(parent, prefix string) (*Dir, error) {
	for {
		path, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, err
		}
		lock, locked, err := lockDir(path)
		if locked {
			return &Dir{path, lock}, nil
		}
		if lock != nil {
			lock.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // SweepIn of another process may have removed the directory; then another one is created
			return nil, errors.Join(err, RemoveTree(path))
		}
	}
}

// Remove removes the directory, unless it was renamed, and releases the lock.
func (d *Dir) Remove() error {
	err := RemoveTree(d.Path)
	return errors.Join(err, d.lock.Close(), forgetLock(d.Path))
}

// SweepIn removes directories in parent that In created with a prefix in processes that were killed. The prefix may contain wildcards.
func SweepIn(parent, prefix string) {
	paths, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !ownedByUser(info) {
			continue
		}
		lock, dead, _ := lockDir(path)
		if dead {
			_ = RemoveTree(path)
		}
		if lock != nil {
			lock.Close()
		}
		if dead {
			_ = forgetLock(path)
		}
	}
}

// RemoveTree removes a directory tree, in which there may be directories without permissions.
func RemoveTree(path string) error {
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
