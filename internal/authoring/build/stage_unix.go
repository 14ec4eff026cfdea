//go:build unix

package build

import (
	"os"
	"syscall"
)

// lockDirectory waits for the exclusive lock of an open directory.
func lockDirectory(dir *os.File) error {
	for {
		if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}
