package vfs

import (
	"os"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// setTimes sets the times of an open file, in nanoseconds since 1970 or UTIME_OMIT.
func setTimes(f *os.File, atim, mtim int64) error {
	now, err := beneath.StatFile(f)
	if err != nil {
		return err
	}
	if atim == sys.UTIME_OMIT {
		atim = now.Atime
	}
	if mtim == sys.UTIME_OMIT {
		mtim = now.Mtime
	}
	return beneath.SetTimes(f, atim, mtim)
}
