package code

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

var (
	errCrashed = errors.New("the compiler crashed")
	errStarved = errors.New("the compiler got too little processor time")
)

const (
	// endGrace is how long run waits for a killed compiler to exit.
	endGrace = 500 * time.Millisecond
	// maxStderr bounds how much of a compiler's standard error is kept, in bytes.
	maxStderr = 4 << 10
)

// job is the compilation of a module into a directory.
type job struct {
	binary  []byte
	dir     string
	workers int
	config  Config
}

// run compiles in a child process. The error is an *Error, or the cause of ctx's cancellation.
func (j *job) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, j.config.wall, errStarved)
	defer cancel()
	child := j.command(ctx)
	stderr := &prefixBuffer{}
	child.Stderr = stderr
	stdin, err := child.StdinPipe()
	var stdout io.ReadCloser
	if err == nil {
		stdout, err = child.StdoutPipe()
	}
	if err != nil {
		return notStarted(err)
	}
	ended := make(chan error, 1)
	var excess atomic.Pointer[string] // why the child was killed while it compiled
	go func() {
		// The kernel sends the child its parent-death signal when this thread exits, so the thread must outlive the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := confine.Start(child); err != nil {
			stdin.Close()
			ended <- notStarted(err)
			return
		}
		gone := make(chan struct{})
		defer close(gone)
		bounds := confine.Bounds{Memory: compilerMemory, Threads: childThreads(j.workers)}
		go confine.Watch(child.Process.Pid, bounds, func() bool { return true }, gone, confine.Actions{
			Kill: func(reason string) {
				excess.Store(&reason)
				_ = child.Process.Kill() // fails only if the process has already ended
			},
			Warn: func(err error) {
				j.config.Log.Warn("a compiler's memory and threads cannot be measured: only the system bounds them", "reason", err)
			},
		})
		switch err := readReport(stdout, j.config.Confined); {
		case err == nil:
			go j.sendModule(stdin)
		case !errors.Is(err, io.EOF): // EOF: the child has failed, and its exit code says why
			_ = child.Process.Kill() // fails only if the process has already ended
			_ = child.Wait()
			ended <- notStarted(err)
			return
		}
		ended <- child.Wait()
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(endGrace): // the child is, for example, blocked on a disk
			return context.Cause(ctx)
		}
	}
	if reason := excess.Load(); reason != nil && err != nil {
		return &Error{Reason: Invalid, Text: "compiling the module was ended: the compiler took too much: " + *reason}
	}
	return j.result(ctx, child, err, stderr.String())
}

func (j *job) command(ctx context.Context) *exec.Cmd {
	command := slices.Clone(j.config.Compiler)
	command = append(command, j.dir, strconv.Itoa(j.workers), strconv.Itoa(int(j.cpu()/time.Second)))
	child := exec.CommandContext(ctx, command[0], command[1:]...)
	child.Dir = "/"
	child.WaitDelay = endGrace / 2 // another process may hold the child's standard error open
	confine.Prepare(child)
	return child
}

// cpu returns Config.CPU in whole seconds, the unit of RLIMIT_CPU.
func (j *job) cpu() time.Duration { return max(j.config.CPU.Round(time.Second), time.Second) }

// reachedCPU reports whether a child that was killed has reached its limit of processor time. RLIMIT_CPU counts the ticks of the clock that
// interrupt the child, whose number deviates from the measured time, the more the shorter the time and the busier the machine.
func (j *job) reachedCPU(used time.Duration) bool {
	return used >= j.cpu()/10*9-200*time.Millisecond
}

// sendModule writes the length of the module and then the module. The pipe stays open: when this process dies the pipe is
// closed, and the child exits.
func (j *job) sendModule(stdin io.Writer) {
	header := binary.BigEndian.AppendUint64(nil, uint64(len(j.binary)))
	if _, err := stdin.Write(header); err == nil {
		_, _ = stdin.Write(j.binary) // if the child stops reading, its exit code says why
	}
}

// result converts the exit of a child into an error, or nil.
func (j *job) result(ctx context.Context, child *exec.Cmd, err error, stderr string) error {
	state := child.ProcessState
	failed := (*Error)(nil)
	switch {
	case err == nil || state != nil && state.Success():
		return nil
	case errors.As(err, &failed):
		return failed
	case errors.Is(context.Cause(ctx), errStarved):
		return &Error{Reason: Interrupted, Text: fmt.Sprintf("compiling the module did not finish within %s: the machine is too busy", j.config.wall), Err: errStarved}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case state == nil:
		return &Error{Reason: Compiler, Text: fmt.Sprintf("the compiler failed: %v", err), Err: err}
	case state.ExitCode() == exitInvalid:
		return &Error{Reason: Invalid, Text: strings.TrimSpace(stderr)}
	case state.ExitCode() == exitStorage:
		return &Error{Reason: Storage, Text: "the compiler cannot write the code: " + strings.TrimSpace(stderr)}
	case state.ExitCode() < 0 && j.reachedCPU(state.UserTime()+state.SystemTime()):
		return &Error{Reason: Invalid, Text: fmt.Sprintf("compiling the module takes more than %s of processor time: simplify its largest functions", j.cpu())}
	case state.ExitCode() == exitCrash && outOfMemory(stderr):
		return &Error{Reason: Invalid, Text: fmt.Sprintf("compiling the module takes more than %d MiB of memory: simplify its largest functions", compilerMemory>>20)}
	case state.ExitCode() < 0:
		return &Error{Reason: Interrupted, Text: fmt.Sprintf("the compiler was killed (%v)", state), Err: err}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return &Error{Reason: Compiler, Text: fmt.Sprintf("the compiler crashed (%v): %s", state, line), Err: errCrashed}
}

// notStarted returns the error of a compiler that did not start.
func notStarted(err error) *Error {
	failure := &Error{Reason: Compiler, Text: fmt.Sprintf("the compiler cannot be started: %v", err), Err: err}
	if confine.IsTransient(err) {
		failure.Reason = Interrupted
	}
	return failure
}

// exitCrash is the exit code of a Go program that panics or runs out of memory.
const exitCrash = 2

func outOfMemory(stderr string) bool {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return strings.Contains(line, "out of memory") || strings.Contains(line, "cannot allocate")
}

// prefixBuffer is an io.Writer that keeps the first maxStderr bytes.
type prefixBuffer struct{ kept []byte }

func (b *prefixBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), maxStderr-len(b.kept))]...)
	return len(p), nil
}

func (b *prefixBuffer) String() string { return strings.ToValidUTF8(string(b.kept), "\uFFFD") }
