// Package faults is sdk/filesystem/faultfs for the file system of this plugin: tests repeat an operation with a failure,
// or the end of the process, at each change in turn.
package faults

import (
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// System is the disk, on which chosen operations fail.
type System struct{ *faultfs.FS }

var _ files.System = System{}

// New returns a System whose operation at fails, from 1, 0 for none; with kill the process counts as ended there.
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

// SetMode counts.
func (s System) SetMode(path string, mode fs.FileMode) error {
	return s.Do("chmod", path, func() error { return disk{}.SetMode(path, mode) })
}

// disk is files.Disk without waiting for the disk: no test loses its power.
type disk struct{ files.Disk }

func (disk) SyncDir(string) error { return nil }
