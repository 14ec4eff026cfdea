package worker

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseProcessorTime(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"7 (a) b) S 1 7 7 0 -1 4194304 1 2 3 4 150 75 9 9 20 0\n": 2250 * time.Millisecond,
		"7 (a) S 1 7 7 0 -1 4194304 1 2 3 4 150 75":               2250 * time.Millisecond,
		"7 (a) S 1 7 7 0 -1 4194304 1 2 3 4 150":                  -1,
		"7 (a) S 1 7 7 0 -1 4194304 1 2 3 4 x 75":                 -1,
		"7 (a) S 1 7 7 0 -1 4194304 1 2 3 4 150 x":                -1,
		"": -1,
	} {
		got, err := parseProcessorTime([]byte(stat))
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: got %v, %v; want %v", stat, got, err, want)
		}
	}
}

// All threads of a demoted worker have the nice value that was measured, so that those of the host come first.
func TestDemotedWorkerHasLowerPriority(t *testing.T) {
	s := newSupervisor(t, nil)
	wantEcho(t, s)
	p := s.process()
	p.demote()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.command.Process.Pid))
	if err != nil || len(tasks) == 0 {
		t.Fatal(len(tasks), err)
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		got, err := unix.Getpriority(unix.PRIO_PROCESS, id)
		if err != nil || 20-got != 10 { // the system call returns 20 minus the nice value
			t.Errorf("thread %d has the nice value %d, %v; want 10", id, 20-got, err)
		}
	}
}

// A worker that another process or the kernel ended while it started can be started again. One that crashed crashes again.
func TestEndsFromOutsideAreInterruptions(t *testing.T) {
	caught := make(chan os.Signal, 1) // a program under nohup ignores SIGHUP, and so would the shells; what is caught, a new program does not ignore
	signal.Notify(caught, unix.SIGHUP)
	defer signal.Stop(caught)
	for script, want := range map[string]bool{
		"kill -KILL $$": true, "kill -TERM $$": true, "kill -INT $$": true, "kill -HUP $$": true,
		"kill -SEGV $$": false, "kill -ABRT $$": false, "exit 1": false, "exit 0": false,
	} {
		command := exec.Command("/bin/sh", "-c", script)
		_ = command.Run()
		p := &process{command: command, stderr: &firstBytes{}}
		if got := p.wasInterrupted(); got != want {
			t.Errorf("%s: %v counts as an interruption: %t", script, command.ProcessState, got)
		}
	}
}
