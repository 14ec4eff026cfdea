// Package faults adapts sdk/filesystem/faultfs to files.System. Tests repeat an operation with a failure, or with the
// end of the process, at each change of the file system in turn.
package faults

import (
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// System is the file system of the process, on which a chosen operation fails.
type System struct{ *faultfs.FS }

var _ files.System = System{}

// New returns a System on which the operation with the number at fails; numbers start at 1, and with 0 no operation
// fails. With kill, all later operations fail, too, as if the process had ended.
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

// Mode returns the permission bits.
func (System) Mode(path string) (fs.FileMode, error) { return disk{}.Mode(path) }

// SetMode sets the permission bits. It counts as an operation.
func (s System) SetMode(path string, mode fs.FileMode) error {
	return s.Do("chmod", path, func() error { return disk{}.SetMode(path, mode) })
}

// disk is files.Disk without sync, because tests do not simulate a loss of power.
type disk struct{ files.Disk }

func (disk) SyncDir(string) error { return nil }
