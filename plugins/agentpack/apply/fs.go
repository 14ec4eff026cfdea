package apply

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
)

// FS is what an Applier does to files. Paths are absolute. What is missing is fs.ErrNotExist, and what is
// there already fs.ErrExist.
type FS interface {
	Lstat(path string) (fs.FileInfo, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	// ReadFile follows a link, and refuses what is no regular file.
	ReadFile(path string) ([]byte, error)
	// WriteNew makes a file, which must not be there, with the mode of the file like, or an ordinary one if
	// like is "". The mode is set before anything is in the file.
	WriteNew(path string, content []byte, like string) error
	Mkdir(path string) error
	// Link gives a file a second name, at which nothing may be.
	Link(from, to string) error
	Rename(from, to string) error
	// Remove removes a file or an empty folder.
	Remove(path string) error
	// Reach returns an error if a folder that is there is not this process's to change, as one that a sandbox shows
	// only because another lies in it. It changes nothing.
	CheckWritable(folder string) error
}

// maxFile bounds what is read of one file, in bytes. Journals are larger than the files that are applied.
const maxFile = 64 << 20

// OS is the FS of the system.
type OS struct {
	// CopyMode gives a file the mode of another. Nil: no mode is ever set, as in a sandbox that has none and
	// keeps the mode of a file that a rename replaces.
	CopyMode func(from, to string) error
	// Sync has each file, and each new name of a file, on the disk and not only in the system's memory before
	// anything else happens: then a loss of power is a kill like any other.
	Sync bool
}

// CopyMode is OS.CopyMode where the system has modes.
func CopyMode(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.Chmod(to, info.Mode().Perm())
}

// Lstat implements FS.
func (OS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// ReadDir implements FS.
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// ReadFile implements FS.
func (OS) ReadFile(path string) ([]byte, error) { return disk.Read(path, maxFile) }

// WriteNew implements FS.
func (o OS) WriteNew(path string, content []byte, like string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if like != "" && o.CopyMode != nil {
		err = o.CopyMode(like, path)
	}
	if err == nil {
		_, err = file.Write(content)
	}
	if err == nil && o.Sync {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Mkdir implements FS.
func (o OS) Mkdir(path string) error { return o.syncParent(path, os.Mkdir(path, 0o755)) }

// Link implements FS.
func (o OS) Link(from, to string) error { return o.syncParent(to, os.Link(from, to)) }

// Rename implements FS.
func (o OS) Rename(from, to string) error { return o.syncParent(to, os.Rename(from, to)) }

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// Reach implements FS. It asks to keep the folder's times as they are, which a sandbox refuses outside of what it has
// granted to write.
func (OS) CheckWritable(folder string) error { return os.Chtimes(folder, time.Time{}, time.Time{}) }

// named has the new name on the disk of what was made or moved without an error.
func (o OS) syncParent(path string, err error) error {
	if err != nil || !o.Sync {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // a file system whose folders cannot be synced
	}
	return errors.Join(err, folder.Close())
}

var _ FS = OS{}
