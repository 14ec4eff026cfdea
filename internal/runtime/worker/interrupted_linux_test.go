package worker

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// killAll kills the workers that ask for it in dir, until ctx ends.
func killAll(ctx context.Context, t *testing.T, dir string) {
	killed := map[string]bool{}
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		items, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
			return
		}
		for _, item := range items {
			if killed[item.Name()] {
				continue
			}
			killed[item.Name()] = true
			pid, err := strconv.Atoi(item.Name())
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				t.Errorf("cannot kill the worker %s: %v", item.Name(), err)
			}
		}
	}
}

func TestWorkerKilledWhileStartingIsStartedAgain(t *testing.T) {
	for plugin, want := range map[string]struct {
		code   engine.Code
		starts int
	}{"killed at first": {"", 1}, "killed at once": {engine.CodeQueue, 2}, "killed while loading": {engine.CodeQueue, 2}} {
		t.Run(plugin, func(t *testing.T) {
			dir := t.TempDir()
			s := newSupervisor(t, func(c *Config) {
				c.Plugin = plugin
				prepare := c.Prepare
				c.Prepare = func(ctx context.Context) (*Launch, error) {
					l, err := prepare(ctx)
					l.Setup.Plugin, l.Setup.Cwd = plugin, dir
					return l, err
				}
			})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); killAll(ctx, t, dir) }()
			_, err := s.Call(t.Context(), withParams("echo", `{"text":"x"}`))
			stop()
			<-ended
			if code := codeOf(t, err); code != want.code {
				t.Errorf("got the code %q: %v", code, err)
			}
			if err != nil && !strings.HasSuffix(err.Error(), "it was ended by the signal killed: try again") {
				t.Errorf("got %v", err)
			}
			if asked, _ := filepath.Glob(filepath.Join(dir, "*")); len(asked) != want.starts {
				t.Errorf("%d workers were killed, want %d", len(asked), want.starts)
			}
		})
	}
}

// Without the processor time, no worker is demoted.
func TestProcessorTimeOfProcessIsKnown(t *testing.T) {
	p := &process{command: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
	if used, err := p.processorTime(); err != nil || used < 0 {
		t.Errorf("of this process: got %v, %v", used, err)
	}
	p.command.Process = &os.Process{Pid: -1}
	if used, err := p.processorTime(); err == nil {
		t.Errorf("of a process that does not exist: got %v", used)
	}
}
