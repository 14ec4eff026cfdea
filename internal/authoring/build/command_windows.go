package build

import (
	"context"
	"os/exec"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// runGroup runs a command in a job object, whose processes are killed when ctx is cancelled. Windows has no signal that lets
// a program clean up first.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	group, err := platform.NewJob(platform.JobLimits{})
	if err != nil {
		return err
	}
	defer group.Close()
	cmd.Cancel = group.Kill
	if err := cmd.Start(); err != nil {
		return err
	}
	// A program that cmd has started by now is not in the job.
	if err := group.Add(cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
	}
	return cmd.Wait()
}
