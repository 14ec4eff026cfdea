//go:build unix

package filesystem

import "syscall"

// nonblock keeps opening a pipe from blocking.
const nonblock = syscall.O_NONBLOCK

func isRegular(info *syscall.Stat_t) bool { return info.Mode&syscall.S_IFMT == syscall.S_IFREG }
