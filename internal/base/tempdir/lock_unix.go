//go:build unix

package tempdir

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

// lockDir tries to lock a directory. Closing the returned file releases the lock.
func lockDir(path string) (lock *os.File, locked bool, err error) {
	if lock, err = os.Open(path); err != nil {
		return nil, false, err
	}
	locked, err = filelock.Try(lock, filelock.Exclusive)
	return lock, err == nil && locked && filelock.IsLinked(lock, path), err
}

// forgetLock does nothing: on Unix, lockDir creates no file.
func forgetLock(string) error { return nil }

func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
