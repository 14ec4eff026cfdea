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

// FS is the file system that an Applier works on. Paths are absolute. Errors are fs.ErrNotExist and
// fs.ErrExist where those apply.
type FS interface {
	Lstat(path string) (fs.FileInfo, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	// ReadFile follows symbolic links and refuses anything but a regular file.
	ReadFile(path string) ([]byte, error)
	// WriteNew creates a file, which must not exist, with the mode of the file like, or the default mode if
	// like is "". The mode is set before the content is written.
	WriteNew(path string, content []byte, like string) error
	Mkdir(path string) error
	// Link makes a hard link; to must not exist.
	Link(from, to string) error
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(path string) error
	// CheckWritable returns an error if this process may not change an existing directory, such as one that a
	// sandbox shows only as the parent of a granted one. It changes nothing.
	CheckWritable(dir string) error
}

// maxFile is the size limit of a file that is read, in bytes. Journals are larger than deployed files.
const maxFile = 64 << 20

// OS is the FS of the operating system.
type OS struct {
	// CopyMode gives a file the mode of another one. If nil, modes are never set: for a sandbox without
	// modes, which keeps the mode of a file that a rename replaces.
	CopyMode func(from, to string) error
	// Sync calls fsync on each file and on the directory of each new name before the next operation, so that
	// a power loss has no worse effect than a kill.
	Sync bool
}

// CopyMode is the OS.CopyMode for systems with file modes.
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

// CheckWritable implements FS. It sets no times, which a sandbox still refuses outside directories granted
// for writing.
func (OS) CheckWritable(dir string) error { return os.Chtimes(dir, time.Time{}, time.Time{}) }

// syncParent syncs the directory that holds path, unless err is set.
func (o OS) syncParent(path string, err error) error {
	if err != nil || !o.Sync {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // the file system cannot sync directories
	}
	return errors.Join(err, dir.Close())
}

var _ FS = OS{}
