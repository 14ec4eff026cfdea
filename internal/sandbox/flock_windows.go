package sandbox

import (
	"errors"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ntfile"
)

// lockExclusive requests an exclusive lock without waiting for it.
const lockExclusive = 0

// flock fails for directories: Windows has locks on files only.
func flock(fd, _ int) error {
	info, err := ntfile.Stat(fd)
	if err != nil || info.IsDir {
		return errors.Join(err, syscall.ENOTSUP)
	}
	free, err := filelock.TryHandle(uintptr(fd), filelock.Exclusive)
	if err == nil && !free {
		err = syscall.EWOULDBLOCK
	}
	return err
}
