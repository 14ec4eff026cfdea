// Package files is the access of this plugin's domain to files: the operations that it needs (System), the
// real ones (Disk), and what is made of them: reading within a bound (Read), replacing a file so that it is
// whole at any moment (Replace), copying and removing trees. Paths are absolute, those of the host.
package files

import (
	"io"
	"io/fs"
	"os"
)

// System is what the domain does with files. Errors are *fs.PathError or *os.LinkError, as those of os.
type System interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	// ReadDir returns a folder's entries, ordered by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	Readlink(path string) (string, error)
	Open(path string) (io.ReadCloser, error)
	// Create makes a file, which must not be there yet, to be written.
	Create(path string) (io.WriteCloser, error)
	Mkdir(path string) error
	// Rename moves a file or folder. A file that is at the target is replaced.
	Rename(from, to string) error
	// Link gives a file a second name, which must not be there yet.
	Link(from, to string) error
	// Remove takes away a file, a link or an empty folder.
	Remove(path string) error
	// Mode gives the permission bits of a file or folder; SetMode sets them. A link is followed.
	Mode(path string) (fs.FileMode, error)
	SetMode(path string, mode fs.FileMode) error
}

// Disk is the file system of the machine, or what a sandbox shows of it. The zero value works natively.
type Disk struct {
	// Modes gives the permission bits of a file, after setting them where set is not nil; nil asks the
	// operating system, which in a sandbox has no answer.
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

// Create opens a new file to be written.
func (Disk) Create(path string) (io.WriteCloser, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Mkdir makes a folder.
func (Disk) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

// Rename is os.Rename.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// Link is os.Link.
func (Disk) Link(from, to string) error { return os.Link(from, to) }

// Remove is os.Remove.
func (Disk) Remove(path string) error { return os.Remove(path) }

// Mode gives the permission bits.
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
