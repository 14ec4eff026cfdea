//go:build unix

package secret

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cmd the leader of a process group, which is killed as a whole: password managers start agents and programs of their own.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
