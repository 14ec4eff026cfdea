package code

import "syscall"

// childAttributes has a child end with this process, and not hear signals from its terminal.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
