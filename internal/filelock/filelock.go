// Package filelock has advisory locks (flock) between processes. The system releases a lock when the last descriptor of the
// open file is closed.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Open opens or creates a lock file.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

// Try takes a lock without blocking; how is syscall.LOCK_EX or syscall.LOCK_SH. It reports whether the lock was free.
func Try(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		}
	}
}
