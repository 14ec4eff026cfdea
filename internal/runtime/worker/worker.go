// Package worker runs a plugin's module in worker processes. It is the host's side: New returns a Supervisor for a
// plugin, and Supervisor.Call makes a call. Package child runs in the worker process.
//
// A worker is a process of the same executable. The first call starts it. It inherits a socket and the handles of the
// plugin's grants, confines itself, and ends when it has been idle for a while. A confined process never gains a handle:
// when a granted path resolves to another directory, a new worker takes further calls and the old one drains. The host
// does not trust a worker: a worker that violates the protocol, stalls or dies loses its own calls and is replaced. The
// calls are retried if that is safe; see Supervisor.Call.
package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Config configures a Supervisor.
type Config struct {
	Plugin  string
	Command []string // command that starts this executable, which must then call child.Main
	Limits  wire.Limits
	// Queue is the maximum time that a call waits for memory of the Pool: until it begins, for the start of its worker, and, in total,
	// while it runs.
	Queue time.Duration
	// Idle is the time after which a worker without calls ends; 0 means five minutes.
	Idle time.Duration
	// Prepare returns the Launch of a worker. It is called for each worker.
	Prepare func(context.Context) (*Launch, error)
	Pool    *Pool // shared by Supervisors
	// CallsOthers means that the calls of the plugin wait for calls of other plugins that they make. No worker gets a lower priority for
	// processor time that it uses while only such a plugin has calls.
	CallsOthers bool
	Log         hclog.Logger
}

const defaultIdle = 5 * time.Minute

// Operate performs a host operation for a call. It returns soon after ctx is done.
type Operate func(ctx context.Context, operation wire.Operation) wire.Reply

// Hooked is a request with the host's functions for its call.
type Hooked struct {
	*call.Request
	Operate Operate
	Record  func(audit.Operation) // receives the call's operations; nil means that they are not recorded
	// Waiting, unless nil, is called every waitingInterval while the call waits for a worker to start, which takes seconds if
	// the module must be compiled.
	Waiting func()
}

// Supervisor starts, supervises and ends the worker processes of one plugin. It is safe for concurrent use.
type Supervisor struct {
	config  Config
	prepare func(*exec.Cmd) confine.Layer // confine.Prepare; tests replace it
	retry   chan struct{}                 // semaphore of capacity 1, which a call holds while it is retried

	mu       sync.Mutex
	current  *process // process that receives new calls; nil if there is none
	starting *starting
	all      map[*process]struct{}
	idle     *time.Timer // runs expire
	closed   bool

	calls int64 // number of calls so far; guarded by the Pool's lock
}

// New returns a Supervisor without a process.
func New(c Config) *Supervisor {
	if c.Idle <= 0 {
		c.Idle = defaultIdle
	}
	s := &Supervisor{config: c, prepare: confine.Prepare, retry: make(chan struct{}, 1), all: map[*process]struct{}{}}
	s.idle = time.AfterFunc(time.Hour, s.expire)
	s.idle.Stop()
	return s
}

// Call makes a call. The caller must not have more than Limits.Concurrency calls in flight. The error is an *engine.Error, or the
// module's own *abi.Error. Of the Result, all but Body is what the worker states.
//
// A call whose worker ends is retried once, in a worker of its own. It is not retried if it may have written something, if its time
// limit had passed, or if it was the only call in flight and the host ended the worker for it. A call that is not retried, or whose
// second worker ends too, fails with CodeWorkerLost or CodeMemory.
func (s *Supervisor) Call(ctx context.Context, r Hooked) (call.Result, error) {
	if size := len(r.Params) + len(r.Members); int64(size) > s.config.Limits.Input {
		return call.Result{}, s.fail(engine.CodeInputSize, nil, "was sent %d bytes, and its limit is %d: raise limits.input", size, s.config.Limits.Input)
	}
	claim := budget.Call{Patience: s.config.Queue}
	if r.Principal != nil {
		claim.Principal = r.Principal.ID
	}
	claim, err := s.config.Pool.memory.Begin(ctx, claim)
	if err != nil {
		return call.Result{}, s.callError(ctx, s.unlessBusy(err))
	}
	s.config.Pool.begin(s)
	defer s.config.Pool.end()
	p, err := s.acquire(ctx, claim, r.Waiting)
	if err != nil {
		return call.Result{}, s.callError(ctx, err)
	}
	began := time.Now()
	if r.Times != nil {
		r.Times.Ready = began
		r.Times.Reach(call.PhaseReady)
	}
	result, err := s.attempt(ctx, p, r, claim)
	defer func() {
		if r.Times != nil {
			r.Times.Answered = time.Now()
		}
	}()
	var lost *lostError
	if errors.As(err, &lost) {
		if time.Since(began)-lost.waited >= s.timeOf(r) {
			lost.late = true
		}
		result, err = s.retryLost(ctx, p, r, claim, lost)
	}
	if err != nil {
		return call.Result{}, s.callError(ctx, err)
	}
	return s.validate(result)
}

// lateReply is the time by which a host operation may exceed the time limit of its call, so that the worker's clock decides which
// error the call returns.
const lateReply = 50 * time.Millisecond

// grace is the time within which a worker must end a call that timed out or was cancelled.
const grace = 2 * time.Second

// timeOf returns the time limit of a call.
func (s *Supervisor) timeOf(r Hooked) time.Duration { return cmp.Or(r.Time, s.config.Limits.Time) }

// attempt makes a call in a process that acquire or launch returned.
func (s *Supervisor) attempt(ctx context.Context, p *process, r Hooked, claim budget.Call) (call.Result, error) {
	defer s.leave(p)
	now := time.Now()
	waiting := &pending{
		ctx: ctx, operate: r.Operate, record: r.Record, claim: claim,
		late: now.Add(s.timeOf(r) + grace), end: now.Add(s.timeOf(r) + lateReply),
	}
	own := operator{launch: p.launch, next: r.Operate}
	defer own.end()
	waiting.operate = own.operate
	result, err := p.conn.call(waiting, r.Request)
	if r.Recorded {
		result.Grants = p.launch.used(result.Uses)
	}
	if err != nil {
		p.settle()
	} else if waiting.refused && !waiting.wrote {
		return call.Result{}, s.busy()
	}
	return result, err
}

// retryLost retries a call whose worker ended, if that is safe. The retry has a worker to itself, which shows whether
// the call itself ends its worker.
func (s *Supervisor) retryLost(ctx context.Context, p *process, r Hooked, claim budget.Call, lost *lostError) (call.Result, error) {
	s.config.Log.Error("a worker process ended", "reason", p.reason())
	if !lost.isRetried(p.killed.Load() != nil) {
		return call.Result{}, s.lostCall(p, lost)
	}
	select {
	case s.retry <- struct{}{}:
		defer func() { <-s.retry }()
	case <-ctx.Done():
		return call.Result{}, ctx.Err()
	}
	p, err := s.launch(ctx, claim)
	if err != nil {
		return call.Result{}, err
	}
	if err := s.adopt(p); err != nil {
		return call.Result{}, err
	}
	if r.Times != nil {
		r.Times.Retried = time.Now()
	}
	result, err := s.attempt(ctx, p, r, claim)
	if errors.As(err, &lost) {
		return call.Result{}, s.lostCall(p, lost)
	}
	return result, err
}

// lostCall returns the error of a call whose process ended and that is not retried.
func (s *Supervisor) lostCall(p *process, err *lostError) *engine.Error {
	if err.alone && p.outOfMemory() {
		return s.fail(engine.CodeMemory, err, "needed more memory than its process may have: raise limits.memory")
	}
	return s.fail(engine.CodeWorkerLost, err, "lost its process: %s", p.reason())
}

// validate validates a worker's result. The worker is untrusted, and the host passes the bytes of the result on to the
// client.
func (s *Supervisor) validate(r call.Result) (call.Result, error) {
	body := r.Body
	if r.Kind == call.Failed {
		r.Body = nil
		if err := failure(s.config.Plugin, body); !errors.Is(err, wire.ErrProtocol) {
			return r, err
		}
		return r, s.fail(engine.CodeWorkerLost, nil, "received a malformed failure from its process")
	}
	why := r.Validate()
	switch {
	case why != "":
		r.Body = nil
		return r, s.fail(engine.CodeWorkerLost, nil, "received an invalid result from its process: %s", why)
	case r.Kind == call.RPCError:
		r.Body = nil
		var own *abi.Error
		if err := json.Unmarshal(body, &own); err != nil || own == nil {
			return r, s.fail(engine.CodeWorkerLost, nil, "received a malformed error from its process")
		}
		return r, own
	}
	return r, nil
}

func (s *Supervisor) fail(code engine.Code, err error, format string, args ...any) *engine.Error {
	return &engine.Error{Code: code, Plugin: s.config.Plugin, Message: fmt.Sprintf(format, args...), Err: err}
}

// callError converts the error of a call that did not run to an *engine.Error.
func (s *Supervisor) callError(ctx context.Context, err error) error {
	var failure *engine.Error
	switch {
	case errors.As(err, &failure):
		return failure
	case ctx.Err() != nil:
		return s.fail(engine.CodeCanceled, ctx.Err(), "was cancelled")
	}
	if isTransient(err) {
		return s.fail(engine.CodeQueue, err, "cannot run: %v%s", err, tryAgain)
	}
	return s.fail(engine.CodeInternal, err, "cannot run: %v", err)
}
