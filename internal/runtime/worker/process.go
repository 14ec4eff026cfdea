package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// process is a worker process.
type process struct {
	supervisor *Supervisor
	account    *budget.Account // its memory

	launch  *Launch
	command *exec.Cmd
	socket  io.ReadWriteCloser
	conn    *conn
	stderr  *firstBytes   // receives the message of a crash of the Go runtime
	gone    chan struct{} // closed when the process has ended
	killed  atomic.Pointer[string]

	active atomic.Int32 // number of calls in flight; changed under the lock of the Supervisor that started the process

	// The following fields are guarded by the lock of that Supervisor.
	retired bool // whether the process receives no further calls
	why     End  // why it was retired; empty: it was not, or had ended before

	idleSince atomic.Int64 // time when the last call ended, in nanoseconds since 1970
	demoted   atomic.Bool  // whether the priority was lowered

	telling sync.Mutex // guards the following fields
	short   bool       // whether memory is short, as the worker is to be told
	tells   bool       // whether the method tell runs
	untold  bool       // whether short has changed since tell wrote it

	// The following fields are guarded by the lock of the Pool.
	computed time.Duration // processor time at the last sample
	sampled  time.Time     // when it was taken
	crowding time.Duration // processor time used while other plugins had calls, beyond its share
}

// start starts a worker and returns when it is confined and its module is loaded. claim is that of the call that needs it. The error is an
// *engine.Error if the module is the cause, or if there is no memory for the worker.
func (s *Supervisor) start(ctx context.Context, l *Launch, claim budget.Call) (*process, error) {
	bytes, limit := l.credit()
	account, err := s.config.Pool.memory.Open(ctx, claim, bytes, limit)
	if err != nil {
		l.release()
		return nil, s.unlessBusy(err)
	}
	p, err := s.spawn(l, account)
	if err != nil {
		account.Close()
		l.release()
		return nil, &startError{Err: err, Transient: confine.IsTransient(err)}
	}
	go p.wait()
	bounds := confine.Bounds{Memory: l.Setup.Confine.Memory, Threads: l.Setup.Confine.Threads}
	go confine.Watch(p.command.Process.Pid, bounds, p.runsCode, p.gone, confine.Actions{Kill: p.kill, Warn: func(err error) {
		s.config.Log.Warn("the memory and threads of a worker process cannot be measured: only the system bounds them", "reason", err)
	}})
	stop := context.AfterFunc(ctx, func() { p.kill("no call waits for it any more") })
	watchdog := time.AfterFunc(startTime, func() { p.kill(fmt.Sprintf("it was not ready after %v", startTime)) })
	err = p.handshake(l.Setup, p.conn.growStarting(ctx, claim, watchdog, time.Now().Add(startTime)))
	watchdog.Stop()
	stop()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		p.settle()
		err = s.unlessBusy(err)
		if failure := (*engine.Error)(nil); !errors.As(err, &failure) {
			err = &startError{Err: fmt.Errorf("%w: %s", err, p.reason()), Transient: confine.IsTransient(err) || p.wasInterrupted() && !errors.Is(err, wire.ErrProtocol)}
		}
		return nil, err
	}
	account.Serve(p)
	return p, nil
}

// startError says that a worker did not start, which has nothing to do with a call: no module has run.
type startError struct {
	Err       error
	Transient bool // whether a later start may succeed
}

func (e *startError) Error() string { return "cannot start a worker process: " + e.Err.Error() }

func (e *startError) Unwrap() error { return e.Err }

// isTransient reports whether err is a startError after which a later start may succeed.
func isTransient(err error) bool {
	failure, ok := errors.AsType[*startError](err)
	return ok && failure.Transient
}

// spawn starts the process.
func (s *Supervisor) spawn(l *Launch, account *budget.Account) (*process, error) {
	p := &process{supervisor: s, account: account, launch: l, gone: make(chan struct{}), stderr: &firstBytes{limit: 16 << 10}}
	p.command = exec.Command(s.config.Command[0], s.config.Command[1:]...)
	p.command.Args[0] = "bulkhead-worker" // the name that ps shows
	p.command.Stderr = p.stderr
	p.command.WaitDelay = time.Second // Wait returns even if another process keeps standard error open
	s.prepare(p.command)
	ours, close, err := connect(p.command, l.Files)
	if err != nil {
		return nil, err
	}
	defer close() // if the host's copy of the worker's end stayed open, the host would not detect that the worker ended
	if err := confine.Start(p.command); err != nil {
		_ = ours.Close()
		return nil, err
	}
	p.socket, p.conn = ours, newConn(ours, s.config.Limits, s.config.Log)
	p.conn.derived, p.conn.kill, p.conn.account = l.Derived, p.kill, account
	return p, nil
}

// startTime bounds the start of a worker and the loading of its module. It is long because the machine may be busy. The worker
// itself bounds the time that the module takes.
const startTime = time.Minute

// handshake sends the set-up to the worker and waits until the module is loaded. grow answers its requests for credit.
func (p *process) handshake(setup wire.Setup, grow func(params []byte) (wire.Reply, error)) (err error) {
	defer guard.Recover(p.conn.log, servingWorker, &err)
	text, err := json.Marshal(setup)
	if err != nil {
		return fmt.Errorf("cannot encode the set-up of a worker: %w", err)
	}
	if err := p.conn.out.Write(wire.TypeSetup, 0, text); err != nil {
		return err
	}
	for reported := false; ; {
		f, err := p.conn.in.Next()
		if err != nil {
			return err
		}
		switch f.Type {
		case wire.TypeReady:
			var report confine.Report
			if err := json.Unmarshal(f.Payload, &report); err != nil || report == nil {
				return wire.Violation("malformed confinement report")
			}
			reported = true
			if p.launch.Confined == nil {
				continue
			}
			if err := p.launch.Confined(report); confine.IsTransient(err) {
				return err
			} else if err != nil {
				return &engine.Error{Code: engine.CodeInternal, Plugin: setup.Plugin, Message: "cannot run: " + err.Error(), Err: err}
			}
		case wire.TypeLog:
			if err := p.conn.takeLog(f); err != nil {
				return err
			}
		case wire.TypeOperation:
			operation, err := wire.DecodeOperation(f.Payload)
			if err != nil || operation.Op != wire.OpMemory {
				return wire.Violation("an operation before the module was loaded")
			}
			reply, err := grow(operation.Params)
			if err != nil && !errors.Is(err, budget.ErrLimit) {
				return err
			}
			if err := p.conn.out.Write(wire.TypeReply, 0, reply.Encode()...); err != nil {
				return err
			}
		case wire.TypeFailed:
			return failure(setup.Plugin, f.Payload)
		case wire.TypeLoaded:
			if !reported {
				return wire.Violation("a module that was loaded without a confinement report")
			}
			return nil
		default:
			return wire.Violation("a frame of type %d before the module was loaded", f.Type)
		}
	}
}

// failure decodes the error that a worker reports.
func failure(plugin string, payload []byte) error {
	var f wire.Failure
	if err := json.Unmarshal(payload, &f); err != nil || !engine.Code(f.Code).OfModule() || f.Message == "" {
		return wire.Violation("malformed failure")
	}
	return &engine.Error{Code: engine.Code(f.Code), Plugin: plugin, Message: printable(f.Message), Detail: printable(f.Detail), Panic: printable(f.Panic), Printed: f.Printed}
}

// wait waits for the process to exit, and reaps it.
func (p *process) wait() {
	_ = p.command.Wait() // the process state describes how the process ended
	p.account.Close()
	close(p.gone)
	p.launch.release()
}

// kill ends the process at once. If it is called again, the first reason remains.
func (p *process) kill(reason string) {
	if p.killed.CompareAndSwap(nil, &reason) {
		_ = p.command.Process.Kill() // fails only if the process has already ended
		_ = p.socket.Close()
	}
}

// hasEnded reports whether the process has ended, or was killed.
func (p *process) hasEnded() bool {
	select {
	case <-p.gone:
		return true
	default:
		return p.killed.Load() != nil
	}
}

// end closes the connection; the process then exits by itself.
func (p *process) end() {
	_ = p.socket.Close()
	go func() {
		select {
		case <-p.gone:
		case <-time.After(time.Second):
			p.kill("it did not exit after its connection was closed")
		}
	}()
}

// End is why a worker process has ended.
type End string

// The values of End.
const (
	EndIdle     End = "idle"     // it had no call for a while
	EndMemory   End = "memory"   // another worker needed its memory
	EndReplaced End = "replaced" // its grant or its module has changed, its priority was lowered, or it ran a single call
	EndClosed   End = "closed"   // the host or its view was closed
	EndKilled   End = "killed"   // the host ended it: it violated the protocol, hung, or exceeded its bounds
	EndLost     End = "lost"     // it crashed, or another process ended it
)

// Ends are all values of End.
var Ends = []End{EndIdle, EndMemory, EndReplaced, EndClosed, EndKilled, EndLost}

// ended returns why the process has ended.
func (p *process) ended() End {
	p.supervisor.mu.Lock()
	defer p.supervisor.mu.Unlock()
	switch {
	case p.why != "":
		return p.why
	case p.killed.Load() != nil:
		return EndKilled
	}
	return EndLost
}

// runsCode reports whether the process has calls, or is loading its module.
func (p *process) runsCode() bool { return p.isActive() || p.idleSince.Load() == 0 }

// settle waits for a process that is about to end, and kills it if it does not.
func (p *process) settle() {
	_ = p.socket.Close()
	select {
	case <-p.gone:
	case <-time.After(time.Second):
		p.kill("it violated the protocol or hung")
		<-p.gone
	}
}

// reason describes how the process ended. hasEnded must be true.
func (p *process) reason() string {
	if killed := p.killed.Load(); killed != nil {
		return *killed
	}
	state := p.command.ProcessState
	line := printable(p.stderr.firstLine())
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("it was ended by the signal %v", status.Signal())
	}
	if line != "" {
		return fmt.Sprintf("%v: %s", state, line)
	}
	return state.String()
}

// wasInterrupted reports whether the process, which has ended, was ended from outside: by another process, by the kernel's
// out-of-memory killer, or because it was too slow.
func (p *process) wasInterrupted() bool {
	if p.killed.Load() != nil {
		return true
	}
	status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, status.Signal())
}

// outOfMemory reports whether the process ended because the kernel refused it memory. It does not detect the kernel's
// out-of-memory killer, which cannot be distinguished from a kill by any other process.
func (p *process) outOfMemory() bool {
	if p.killed.Load() != nil {
		return false
	}
	line := p.stderr.firstLine()
	return strings.Contains(line, "out of memory") || strings.Contains(line, "cannot allocate")
}

// firstBytes stores the first limit bytes that are written to it. Further writes fail, which closes the pipe, so that no time is
// spent on copying more.
type firstBytes struct {
	limit int

	mu   sync.Mutex
	data bytes.Buffer
}

var errFull = errors.New("the limit of the output is reached")

// Write implements io.Writer.
func (f *firstBytes) Write(data []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data.Write(data[:min(len(data), f.limit-f.data.Len())])
	if f.data.Len() == f.limit {
		return 0, errFull
	}
	return len(data), nil
}

func (f *firstBytes) firstLine() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, _, _ := strings.Cut(f.data.String(), "\n")
	return line
}

// printable bounds a string from a worker and escapes what could mislead the reader of a log.
func printable(text string) string { return visible.Bounded(text, maxLogText) }
