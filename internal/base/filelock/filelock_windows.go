package filelock

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// region is one byte beyond the end of any file. LockFileEx denies other processes access to the bytes that it locks, so a lock
// on this byte does not affect reading and writing, as with flock.
func region() *windows.Overlapped {
	return &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
}

func try(f *os.File, mode Mode) (bool, error) { return TryHandle(f.Fd(), mode) }

// TryHandle is Try for a handle.
func TryHandle(h uintptr, mode Mode) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == Exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(h), flags, 0, 1, 0, region())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, region())
}
