//go:build unix

package sandbox

import "golang.org/x/sys/unix"

// lockExclusive requests an exclusive lock without waiting for it.
const lockExclusive = unix.LOCK_EX | unix.LOCK_NB

func flock(fd, how int) error { return unix.Flock(fd, how) }
