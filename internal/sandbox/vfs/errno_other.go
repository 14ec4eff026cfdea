//go:build !windows

package vfs

import "syscall"

// portable returns the errno of POSIX for an error of the system.
func portable(e syscall.Errno) syscall.Errno { return e }
