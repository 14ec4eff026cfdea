//go:build unix

package build

import (
	"context"
	"os/exec"
	"syscall"
)

// runGroup runs a command in its own process group. When ctx is cancelled, the group is interrupted, and then killed.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// An interrupt lets a program such as make remove incomplete files.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kill the processes of the group that ignore the interrupt
	}
	return err
}
