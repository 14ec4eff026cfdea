//go:build !linux

package code

import "syscall"

// childAttributes has a child not hear signals from this process's terminal.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
