package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Lock is git's lock of one file of a repository: a file with the same name and ".lock", which only one program can create. While it is held,
// neither git nor another operation changes the file. The caller must release it.
//
// No symbolic link below the git directory is followed, since a repository could contain one that leads to a hook or to its configuration.
type Lock struct {
	// Dir is the strict form of the git directory. It stays open until Release.
	Dir  *beneath.Dir
	name string
	abs  string // absolute path of the locked file, for messages
	file *os.File
}

// Lock acquires the lock of a file. dir is GitDir or Common, and name the path of the file in it. Missing directories are created.
func (r *Repository) Lock(dir, name string) (*Lock, error) {
	opened, err := r.Root.Handle.OpenStrict(dir)
	if err != nil {
		return nil, r.Root.Explain(dir, err)
	}
	l := &Lock{Dir: opened, name: name, abs: r.Root.Abs(path.Join(dir, name))}
	// Retry if necessary: git may remove an empty directory of references after it was created and before the lock was created in it.
	for range 3 {
		if err = l.acquire(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		return l, nil
	}
	defer opened.Close()
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s.lock exists: another program is changing the repository, or was interrupted while changing it; "+
			"if no such program is running, remove that file", l.abs)
	}
	return nil, fmt.Errorf("%s.lock: %w", l.abs, ExplainLink(opened, name, err))
}

func (l *Lock) acquire() (err error) {
	if dir := path.Dir(l.name); dir != "." {
		if err := l.Dir.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	l.file, _, err = l.Dir.Open(l.name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return err
}

// Replace replaces the locked file atomically and durably: it writes the lock file, syncs it, and renames it to the file. The lock is released
// then. If Replace fails, the file is unchanged, unless the error is that of syncing its directory.
func (l *Lock) Replace(content []byte) error {
	_, err := l.file.Write(content)
	err = errors.Join(err, l.file.Sync(), l.file.Close())
	if err == nil {
		err = beneath.Rename(l.Dir, l.name+".lock", l.Dir, l.name)
	}
	if err != nil {
		l.remove()
		return fmt.Errorf("%s: %w", l.abs, err)
	}
	l.file = nil
	return SyncDir(l.Dir, path.Dir(l.name))
}

// Release removes the lock file, unless Replace has renamed it, and closes Dir.
func (l *Lock) Release() {
	if l.file != nil {
		_ = l.file.Close() // nothing was written
		l.remove()
	}
	l.Dir.Close()
}

func (l *Lock) remove() {
	_ = l.Dir.Unlink(l.name + ".lock") // a lock file that stays is reported by the next operation
	l.file = nil
}

// SyncDir makes the entries of a directory durable. Windows and some file systems have no such operation.
func SyncDir(dir *beneath.Dir, name string) error {
	f, _, err := dir.Open(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// ExplainLink returns err, unless a part of name is a symbolic link. Then it returns an error that says so: a strict lookup reports a link
// like a file in a directory's place. The result is only used in a message.
func ExplainLink(dir *beneath.Dir, name string, err error) error {
	for end := range len(name) + 1 {
		if end < len(name) && name[end] != '/' {
			continue
		}
		if _, linkErr := dir.Readlink(name[:end]); linkErr == nil {
			return fmt.Errorf("%s is a symbolic link, which operations that change a repository do not follow: replace it by what it refers to",
				name[:end])
		}
	}
	return err
}
