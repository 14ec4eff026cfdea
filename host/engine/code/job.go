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
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/internal/confine"
)

var (
	errCrashed    = errors.New("the compiler crashed")
	errNotStarted = errors.New("the compiler was not started")
	errStarved    = errors.New("the compiler got too little processor time")
)

const (
	// endGrace is how long a killed compiler is waited for.
	endGrace = 500 * time.Millisecond
	// maxSaid bounds what is kept of a compiler's standard error.
	maxSaid = 4 << 10
)

// job is the compilation of a module into a directory.
type job struct {
	binary  []byte
	dir     string
	workers int
	config  Config
}

// run compiles in a child process. The error is an *Error, or the cause of the end of ctx.
func (j *job) run(ctx context.Context) error {
	err := j.compile(ctx, confine.Options{})
	if errors.Is(err, errNotStarted) { // the system may refuse more namespaces than there are
		err = j.compile(ctx, confine.Options{NoNamespaces: true})
	}
	return err
}

// compile compiles in a child process.
func (j *job) compile(ctx context.Context, o confine.Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, starvation*j.config.CPU, errStarved)
	defer cancel()
	child := j.command(ctx, o)
	said := &head{}
	child.Stderr = said
	stdin, err := child.StdinPipe()
	if err != nil {
		return &Error{Reason: Compiler, Text: fmt.Sprintf("the compiler cannot be started: %v", err), Err: err}
	}
	ended := make(chan error, 1)
	go func() {
		// The child ends with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := child.Start(); err != nil {
			stdin.Close()
			ended <- &Error{Reason: Compiler, Text: fmt.Sprintf("the compiler cannot be started: %v", err), Err: errors.Join(errNotStarted, err)}
			return
		}
		go j.feed(stdin)
		ended <- child.Wait()
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(endGrace): // its end takes longer, as while a disk does not answer
			return context.Cause(ctx)
		}
	}
	return j.outcome(ctx, child, err, said.String())
}

func (j *job) command(ctx context.Context, o confine.Options) *exec.Cmd {
	command := slices.Clone(j.config.Compiler)
	command = append(command, j.dir, strconv.Itoa(j.workers), strconv.Itoa(int(j.cpu()/time.Second)))
	child := exec.CommandContext(ctx, command[0], command[1:]...)
	child.Dir = "/"
	child.WaitDelay = endGrace / 2 // for whoever else has its standard error
	confine.Prepare(child, o)
	return child
}

// cpu is the bound in whole seconds, which is what the system counts in.
func (j *job) cpu() time.Duration { return max(j.config.CPU.Round(time.Second), time.Second) }

// feed writes the module with its length. The pipe stays open: its end tells the child that this process is dead.
func (j *job) feed(stdin io.Writer) {
	header := binary.BigEndian.AppendUint64(nil, uint64(len(j.binary)))
	if _, err := stdin.Write(header); err == nil {
		_, _ = stdin.Write(j.binary) // a child that does not read it says why
	}
}

// outcome says what the end of a child means.
func (j *job) outcome(ctx context.Context, child *exec.Cmd, err error, said string) error {
	state := child.ProcessState
	failed := (*Error)(nil)
	switch {
	case err == nil || state != nil && state.Success():
		return nil
	case errors.As(err, &failed):
		return failed
	case errors.Is(context.Cause(ctx), errStarved):
		return &Error{Reason: Compiler, Text: fmt.Sprintf("compiling it was not done after %s: the machine is too busy", starvation*j.config.CPU), Err: errStarved}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case state == nil:
		return &Error{Reason: Compiler, Text: fmt.Sprintf("the compiler failed: %v", err), Err: err}
	case state.ExitCode() == exitInvalid:
		return &Error{Reason: Invalid, Text: strings.TrimSpace(said)}
	case state.ExitCode() == exitStorage:
		return &Error{Reason: Storage, Text: "the compiler cannot write: " + strings.TrimSpace(said)}
	case state.ExitCode() < 0 && state.UserTime()+state.SystemTime() >= j.cpu()/10*9: // the kernel's two counts differ a little
		return &Error{Reason: Invalid, Text: fmt.Sprintf("compiling it takes more than %s of processor time", j.cpu())}
	case state.ExitCode() == exitCrash && outOfMemory(said):
		return &Error{Reason: Invalid, Text: fmt.Sprintf("compiling it takes more than %d MiB of memory", compilerMemory>>20)}
	case state.ExitCode() < 0:
		return &Error{Reason: Compiler, Text: fmt.Sprintf("the process that compiles it was killed (%v)", state), Err: err}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return &Error{Reason: Compiler, Text: fmt.Sprintf("the process that compiles it crashed (%v): %s", state, line), Err: errCrashed}
}

// exitCrash is how a Go program ends that panics, or to which the system refuses memory.
const exitCrash = 2

func outOfMemory(said string) bool {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return strings.Contains(line, "out of memory") || strings.Contains(line, "cannot allocate")
}

// head keeps the beginning of what is written to it.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxSaid-len(h.kept))]...)
	return len(p), nil
}

func (h *head) String() string { return strings.ToValidUTF8(string(h.kept), "\uFFFD") }
