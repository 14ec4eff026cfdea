//go:build unix

package filesystem

import "syscall"

// nonblock is the flag with which opening a pipe does not block.
const nonblock = syscall.O_NONBLOCK

func isRegular(info *syscall.Stat_t) bool { return info.Mode&syscall.S_IFMT == syscall.S_IFREG }
