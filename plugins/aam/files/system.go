// Package files has those functions of a file system that sdk/filesystem, sdk/atomicfile and sdk/contain lack:
// permission bits (System, Disk), reading with a limit (Read), symbolic links that must resolve to a path inside of a
// directory (Inside), the names of temporary files (Temp), and copying and removing directory trees. All paths are
// absolute host paths.
package files

import (
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// System is the file system that the plugin uses. Errors are *fs.PathError or *os.LinkError, as in package os.
type System interface {
	filesystem.FS
	// Mode returns the permission bits of a file or directory, and SetMode sets them. Both follow symbolic links.
	Mode(path string) (fs.FileMode, error)
	SetMode(path string, mode fs.FileMode) error
}

// Disk is the file system of the process. The zero value works outside of a sandbox.
type Disk struct {
	filesystem.OS
	// Modes returns the permission bits of a file. If set is not nil, Modes sets the bits to *set first. If Modes is
	// nil, Disk uses the operating system, which does not support permission bits in a sandbox.
	Modes func(path string, set *fs.FileMode) (fs.FileMode, error)
}

var _ System = Disk{}

// Mode returns the permission bits of the file at path.
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

// SetMode sets the permission bits of the file at path.
func (d Disk) SetMode(path string, mode fs.FileMode) error {
	if d.Modes != nil {
		_, err := d.Modes(path, &mode)
		return err
	}
	return os.Chmod(path, mode)
}

// CopyMode gives the file at "to" the permission bits of the file at "from", if the bits differ.
func (d Disk) CopyMode(from, to string) error {
	mode, err := d.Mode(from)
	if err != nil {
		return err
	}
	if has, err := d.Mode(to); err == nil && has == mode {
		return nil
	}
	return d.SetMode(to, mode)
}
