// Package worker runs a plugin's module in processes of its own: the host's side of it. New makes a Supervisor
// for a plugin, and Supervisor.Call makes a call; package child is what runs in the process.
//
// A worker is this same executable. It is started by the first call, inherits a connection and the handles that
// the plugin is granted, confines itself, and ends when it has been idle for a while. A confined process never
// gains a handle: where a grant leads to another directory by now, a new worker takes the calls to come, and the
// old one ends with its last call. The host treats a worker as hostile. One that sends garbage, stalls or dies
// loses its own calls, and is replaced.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Config says what a Supervisor starts.
type Config struct {
	Plugin  string
	Command []string // starts this executable so that it becomes child.Main
	Limits  wire.Limits
	// Queue is how long a call waits at most for memory of the Pool.
	Queue time.Duration
	// Idle is how long a worker is kept after its last call; 0: five minutes.
	Idle time.Duration
	// Prepare says what a worker is started with. It is called for each one.
	Prepare func(context.Context) (*Launch, error)
	Pool    *Pool // that several Supervisors share
	Log     hclog.Logger
}

const defaultIdle = 5 * time.Minute

// Asker performs an operation that a call asks the host process for. It returns soon after ctx ends.
type Asker func(ctx context.Context, ask wire.Ask) wire.Reply

// Request is a call.
type Request struct {
	wire.Call
	Ask    Asker
	Record func(wire.Record) // is told of the call's operations; nil: they are not recorded
}

// Supervisor keeps the worker processes of one plugin. It is safe for concurrent use.
type Supervisor struct {
	config Config
	retry  chan struct{} // of the one call that runs again

	mu       sync.Mutex
	current  *process // that gets calls; nil: none
	starting *starting
	all      map[*process]struct{}
	idle     *time.Timer
	closed   bool

	// What follows is guarded by the Pool's lock.
	calls     int64 // so far
	processes int   // that count
}

// New returns a Supervisor that has not started anything.
func New(c Config) *Supervisor {
	if c.Idle <= 0 {
		c.Idle = defaultIdle
	}
	return &Supervisor{config: c, retry: make(chan struct{}, 1), all: map[*process]struct{}{}}
}

// Response is what a call gave.
type Response struct {
	Body      []byte // the method's result: valid JSON and UTF-8, of which nothing more is known
	ToolError bool   // the worker says that the result reports an error
	Fuel      int64  // instructions that the call took
	LeftOut   int64  // operations beyond those that were recorded
}

// Call makes a call. The caller sees to it that there are no more than Limits.Concurrency at a time. The error is an
// *engine.Error, or the module's own *abi.Error. A call whose worker ended by the doing of another call is made
// again, once and in a worker of its own, if it cannot have changed anything.
func (s *Supervisor) Call(ctx context.Context, r Request) (Response, error) {
	if int64(len(r.Params)) > s.config.Limits.Input {
		return Response{}, s.fail(engine.CodeInputSize, nil, "was sent %d bytes, and its limit is %d", len(r.Params), s.config.Limits.Input)
	}
	release, err := s.config.Pool.reserve(ctx, s, s.config.Queue)
	if err != nil {
		return Response{}, s.failed(ctx, err)
	}
	defer release()
	p, err := s.acquire(ctx)
	if err != nil {
		return Response{}, s.failed(ctx, err)
	}
	began := time.Now()
	result, err := s.run(ctx, p, r)
	var lost *lostError
	if errors.As(err, &lost) {
		if time.Since(began) >= s.config.Limits.Time {
			lost.late = true
		}
		result, err = s.again(ctx, p, r, lost)
	}
	if err != nil {
		return Response{}, s.failed(ctx, err)
	}
	return s.opened(result)
}

// lateReply is how much later than the call an operation ends that the host performs: the worker's own clock decides
// what the call fails with.
const lateReply = 50 * time.Millisecond

// grace is how long a worker has to end a call whose time is over, or that was cancelled.
const grace = 2 * time.Second

// run makes a call in a process, which acquire or launch gave for it.
func (s *Supervisor) run(ctx context.Context, p *process, r Request) (wire.Result, error) {
	defer s.leave(p)
	call := &pending{ctx: ctx, ask: r.Ask, record: r.Record, end: time.Now().Add(s.config.Limits.Time + lateReply)}
	call.late = time.AfterFunc(s.config.Limits.Time+grace, func() {
		if !call.ended.Load() {
			p.kill("it did not end a call in time")
		}
	})
	defer func() {
		call.ended.Store(true) // a cancellation may set the timer again
		call.late.Stop()
	}()
	if p.launch.Create != nil {
		call.ask = p.creating(r.Ask)
	}
	result, err := p.conn.call(call, r.Call)
	if err != nil {
		p.settle()
	}
	return result, err
}

// creating performs wire.OpCreate, which concerns the process, and leaves all other operations to next.
func (p *process) creating(next Asker) Asker {
	return func(ctx context.Context, ask wire.Ask) wire.Reply {
		if ask.Op != wire.OpCreate {
			return next(ctx, ask)
		}
		mount, err := strconv.Atoi(string(ask.Params))
		if err == nil {
			err = p.launch.Create(mount)
		}
		if err != nil {
			return wire.Reply{Error: &abi.HostError{Code: abi.HostFailed, Message: err.Error()}}
		}
		return wire.Reply{}
	}
}

// again makes a call another time, whose worker ended. The worker that is started for it alone shows whether the
// call itself is to blame.
func (s *Supervisor) again(ctx context.Context, p *process, r Request, lost *lostError) (wire.Result, error) {
	s.config.Log.Error("a worker process ended", "reason", p.reason())
	// Whoever ended the worker from outside, or another call, may be to blame, but not where the host had to end it.
	blamed := lost.alone && (p.killed.Load() != nil || errors.Is(lost.reason, wire.ErrProtocol))
	if lost.sent && (lost.wrote || lost.late || blamed) {
		return wire.Result{}, s.lost(p, lost)
	}
	select {
	case s.retry <- struct{}{}:
		defer func() { <-s.retry }()
	case <-ctx.Done():
		return wire.Result{}, ctx.Err()
	}
	p, err := s.launch(ctx)
	if err != nil {
		return wire.Result{}, err
	}
	if err := s.adopt(p); err != nil {
		return wire.Result{}, err
	}
	result, err := s.run(ctx, p, r)
	if errors.As(err, &lost) {
		return wire.Result{}, s.lost(p, lost)
	}
	return result, err
}

// lost is the error of a call that ended with its process.
func (s *Supervisor) lost(p *process, err *lostError) *engine.Error {
	if err.alone && p.outOfMemory() {
		return s.fail(engine.CodeMemory, err, "needed more memory than its process may have")
	}
	return s.fail(engine.CodeWorkerLost, err, "lost its process: %s", p.reason())
}

// opened checks what a worker answered: it is hostile, and the host passes the bytes on.
func (s *Supervisor) opened(result wire.Result) (Response, error) {
	r := Response{Body: result.Body, ToolError: result.Kind == wire.KindToolError, Fuel: result.Fuel, LeftOut: result.LeftOut}
	switch {
	case result.Kind == wire.KindFailure:
		r.Body = nil
		if err := failure(s.config.Plugin, result.Body); !errors.Is(err, wire.ErrProtocol) {
			return r, err
		}
		return r, s.fail(engine.CodeWorkerLost, nil, "got a failure from its process that cannot be read")
	case !json.Valid(result.Body) || !utf8.Valid(result.Body) || rawjson.Kind(result.Body) != '{':
		r.Body = nil
		return r, s.fail(engine.CodeWorkerLost, nil, "got an answer from its process that is not a JSON object")
	case result.Kind == wire.KindRPCError:
		r.Body = nil
		var own *abi.Error
		if err := json.Unmarshal(result.Body, &own); err != nil || own == nil {
			return r, s.fail(engine.CodeWorkerLost, nil, "got an error from its process that cannot be read")
		}
		return r, own
	}
	return r, nil
}

func (s *Supervisor) fail(code engine.Code, err error, format string, args ...any) *engine.Error {
	return &engine.Error{Code: code, Plugin: s.config.Plugin, Message: fmt.Sprintf(format, args...), Err: err}
}

// failed makes an *engine.Error of any error of a call that did not run.
func (s *Supervisor) failed(ctx context.Context, err error) error {
	var failure *engine.Error
	switch {
	case errors.As(err, &failure):
		return failure
	case ctx.Err() != nil:
		return s.fail(engine.CodeCanceled, ctx.Err(), "was cancelled")
	}
	return s.fail(engine.CodeInternal, err, "cannot run: %v", err)
}
