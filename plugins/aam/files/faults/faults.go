// Package faults adapts sdk/filesystem/faultfs to files.System. With it, tests repeat an operation once for each of its
// changes of the file system, and let that change fail or the process end there.
package faults

import (
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// System is the file system of the process, in which a chosen operation fails.
type System struct{ *faultfs.FS }

var _ files.System = System{}

// New returns a System in which the operation with the number at fails. Numbers start at 1; for 0 no operation fails.
// With kill, all later operations fail, too, as if the process had ended.
func New(at int, kill bool) System {
	f := &faultfs.FS{FS: disk{}, At: at}
	switch {
	case kill:
		f.Mode = faultfs.KillDuring
	case at > 0:
		f.Mode = faultfs.Fail
	}
	return System{f}
}

// Mode returns the permission bits of the file at path.
func (System) Mode(path string) (fs.FileMode, error) { return disk{}.Mode(path) }

// SetMode sets the permission bits of the file at path. The call counts as an operation that can fail.
func (s System) SetMode(path string, mode fs.FileMode) error {
	return s.Do("chmod", path, func() error { return disk{}.SetMode(path, mode) })
}

// disk is a files.Disk whose sync does nothing, because tests do not simulate a loss of power.
type disk struct{ files.Disk }

func (disk) SyncDir(string) error { return nil }
