// Package files provides file system access: the required operations (System), their implementation (Disk), and helpers
// for bounded reading (Read), atomic replacement (Replace), and copying and removing trees. Paths are absolute host paths.
package files

import (
	"io"
	"io/fs"
	"os"
)

// System is the file system interface of the plugin. Errors are *fs.PathError or *os.LinkError, as in package os.
type System interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	// ReadDir returns the entries of a directory, sorted by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	Readlink(path string) (string, error)
	Open(path string) (io.ReadCloser, error)
	// Create creates a file for writing, which must not exist.
	Create(path string) (io.WriteCloser, error)
	Mkdir(path string) error
	// Rename moves a file or directory, and replaces a file at the target.
	Rename(from, to string) error
	// Link creates a hard link, whose path must not exist.
	Link(from, to string) error
	// Remove removes a file, a symbolic link or an empty directory.
	Remove(path string) error
	// Mode returns the permission bits of a file or directory; SetMode sets them. Both follow symbolic links.
	Mode(path string) (fs.FileMode, error)
	SetMode(path string, mode fs.FileMode) error
}

// Disk is the file system of the process. The zero value works outside of a sandbox.
type Disk struct {
	// Modes returns the permission bits of a file, and sets them first if set is not nil. Nil uses the operating
	// system, which does not support them in a sandbox.
	Modes func(path string, set *fs.FileMode) (fs.FileMode, error)
}

var _ System = Disk{}

// Lstat is os.Lstat.
func (Disk) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Stat is os.Stat.
func (Disk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// ReadDir is os.ReadDir.
func (Disk) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Readlink is os.Readlink.
func (Disk) Readlink(path string) (string, error) { return os.Readlink(path) }

// Open is os.Open.
func (Disk) Open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err // a nil *os.File in the interface would not be nil
	}
	return file, nil
}

// Create creates a file for writing.
func (Disk) Create(path string) (io.WriteCloser, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Mkdir creates a directory.
func (Disk) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

// Rename is os.Rename.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// Link is os.Link.
func (Disk) Link(from, to string) error { return os.Link(from, to) }

// Remove is os.Remove.
func (Disk) Remove(path string) error { return os.Remove(path) }

// Mode returns the permission bits.
func (d Disk) Mode(path string) (fs.FileMode, error) {
	if d.Modes != nil {
		return d.Modes(path, nil)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// SetMode sets the permission bits.
func (d Disk) SetMode(path string, mode fs.FileMode) error {
	if d.Modes != nil {
		_, err := d.Modes(path, &mode)
		return err
	}
	return os.Chmod(path, mode)
}
