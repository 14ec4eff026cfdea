package testenv

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// RunnerAs returns a function that runs a program as a user, in the root directory, and returns its output. It skips the test without root's
// privileges, or without the program.
func RunnerAs(t testing.TB, program string) func(user uint32, args ...string) (string, error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only the superuser can start a process of another user")
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("there is no %s", program)
	}
	return func(user uint32, args ...string) (string, error) {
		c := exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := c.CombinedOutput()
		return string(out), err
	}
}
