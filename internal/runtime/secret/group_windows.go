package secret

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps cmd from opening a window.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true} }
