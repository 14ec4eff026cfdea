package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync writes the content of a file through to the disk.
func datasync(f *os.File) error { return f.Sync() }

// futimens sets the times of an open file, to the microsecond.
func futimens(fd int, atim, mtim int64) error {
	return unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(atim), unix.NsecToTimeval(mtim)})
}
