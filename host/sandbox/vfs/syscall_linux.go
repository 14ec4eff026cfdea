package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync writes the content of a file through to the disk.
func datasync(f *os.File) error { return control(f, unix.Fdatasync) }

// futimens sets the times of an open file to the nanosecond, on kernels before 5.8 to the microsecond.
func futimens(fd int, atim, mtim int64) error {
	ts := []unix.Timespec{unix.NsecToTimespec(atim), unix.NsecToTimespec(mtim)}
	err := unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		err = unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(atim), unix.NsecToTimeval(mtim)})
	}
	return err
}
