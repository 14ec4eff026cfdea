//go:build unix

package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A call that may have had an effect, that used up its time, or that ended its worker is not made again.
func TestRetriesOfLostCalls(t *testing.T) {
	violation := wire.Violation("x")
	for name, c := range map[string]struct {
		lost   lostError
		killed bool
		want   bool
	}{
		"never sent":                                    {lostError{wrote: true, late: true, alone: true, reason: violation}, true, true},
		"worker ended by itself":                        {lostError{sent: true, alone: true, reason: io.EOF}, false, true},
		"worker killed, with other calls":               {lostError{sent: true, reason: io.EOF}, true, true},
		"worker killed for the only call":               {lostError{sent: true, alone: true, reason: io.EOF}, true, false},
		"protocol violated, with other calls":           {lostError{sent: true, reason: violation}, false, true},
		"protocol violated by the only call":            {lostError{sent: true, alone: true, reason: violation}, false, false},
		"may have written":                              {lostError{sent: true, wrote: true, reason: io.EOF}, false, false},
		"time limit had passed":                         {lostError{sent: true, late: true, reason: io.EOF}, false, false},
		"may have written, before its time limit ended": {lostError{sent: true, wrote: true, late: true, reason: io.EOF}, false, false},
	} {
		if got := c.lost.isRetried(c.killed); got != c.want {
			t.Errorf("%s: retried: %t, want %t", name, got, c.want)
		}
	}
}

// The worker is untrusted: what it states as a result reaches the client only if it is valid.
func TestResultsOfWorkerAreValidated(t *testing.T) {
	s := newSupervisor(t, nil)
	for name, c := range map[string]struct {
		result call.Result
		want   string // of the error; empty if there is none
	}{
		"result":              {call.Result{Body: []byte(`{"a":1}`)}, ""},
		"no object":           {call.Result{Body: []byte(`1`)}, "received an invalid result from its process"},
		"failure":             {call.Result{Kind: call.Failed, Body: []byte(`{"code":"fuel","message":"used up\u202e"}`)}, "used up·"},
		"failure of the host": {call.Result{Kind: call.Failed, Body: []byte(`{"code":"worker_lost","message":"x"}`)}, "received a malformed failure"},
		"silent failure":      {call.Result{Kind: call.Failed, Body: []byte(`{"code":"fuel","message":""}`)}, "received a malformed failure"},
		"malformed failure":   {call.Result{Kind: call.Failed, Body: []byte(`{"code":"fuel","message":"x"`)}, "received a malformed failure"},
		"error":               {call.Result{Kind: call.RPCError, Body: []byte(`{"code":7,"message":"own"}`)}, "own"},
		"no error":            {call.Result{Kind: call.RPCError, Body: []byte(`null`)}, "from its process"},
		"error of wrong type": {call.Result{Kind: call.RPCError, Body: []byte(`{"code":7,"message":{}}`)}, "from its process"},
	} {
		got, err := s.validate(c.result)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if (err == nil) != (got.Body != nil) {
			t.Errorf("%s: got the body %q with the error %v", name, got.Body, err)
		}
		if own := (*abi.Error)(nil); errors.As(err, &own) != (name == "error") {
			t.Errorf("%s: got an error of the type %T", name, err)
		}
	}
}

// Operations that need what the worker was started with do not reach the caller of Supervisor.Call, and no others are kept from it.
func TestOperatorPerformsOperationsOfLaunch(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		operation wire.Operation
		launch    Launch
		want      string // what performed the operation
		fails     bool
	}{
		"create":                          {wire.Operation{Op: wire.OpCreate, Params: []byte("3")}, Launch{}, "create 3", false},
		"create of a mount that is text":  {wire.Operation{Op: wire.OpCreate, Params: []byte("x")}, Launch{}, "", true},
		"create that fails":               {wire.Operation{Op: wire.OpCreate, Params: []byte("4")}, Launch{}, "create 4", true},
		"create, which nothing provides":  {wire.Operation{Op: wire.OpCreate, Params: []byte("3")}, Launch{Create: nil, Stale: func() string { return "" }}, "next", false},
		"another operation than create":   {wire.Operation{Op: abi.OpClaims, Params: []byte("3")}, Launch{}, "next", false},
		"a lock, which nothing provides":  {wire.Operation{Op: abi.OpLock}, Launch{Stale: func() string { return "" }}, "next", false},
		"an operation with locks at hand": {wire.Operation{Op: abi.OpNotify}, Launch{}, "next", false},
	} {
		performed := ""
		l := c.launch
		if l.Stale == nil {
			l.Create = func(mount int) error {
				performed = fmt.Sprint("create ", mount)
				if mount == 4 {
					return refused
				}
				return nil
			}
			l.Locks = func() Locks { t.Errorf("%s: locks were requested", name); return nil }
		}
		o := operator{launch: &l, next: func(context.Context, wire.Operation) wire.Reply { performed = "next"; return wire.Reply{} }}
		reply := o.operate(t.Context(), c.operation)
		o.end()
		if performed != c.want || (reply.Error != nil) != c.fails {
			t.Errorf("%s: performed %q with the error %v, want %q", name, performed, reply.Error, c.want)
		}
	}
}

// Locks of a call are made once, and end with it.
func TestOperatorMakesLocksOnce(t *testing.T) {
	made, locked, ended := 0, 0, 0
	l := &Launch{Locks: func() Locks { made++; return callLocks{&locked, &ended} }}
	o := operator{launch: l, next: func(context.Context, wire.Operation) wire.Reply { return wire.Reply{} }}
	for range 2 {
		if reply := o.operate(t.Context(), wire.Operation{Op: abi.OpLock}); reply.Error != nil {
			t.Error(reply.Error)
		}
	}
	if o.end(); made != 1 || locked != 2 || ended != 1 {
		t.Errorf("made %d, locked %d, ended %d", made, locked, ended)
	}
}

type callLocks struct{ locked, ended *int }

func (l callLocks) Lock(context.Context, []byte) error { *l.locked++; return nil }
func (l callLocks) End()                               { *l.ended++ }

func TestLaunchNeedsNoFunctions(t *testing.T) {
	l := &Launch{}
	if l.release(); l.stale() != "" {
		t.Error("a launch without Stale is stale")
	}
	l.Stale = func() string { return "replaced" }
	if got := l.stale(); got != "replaced" {
		t.Errorf("got %q", got)
	}
	s := newSupervisor(t, counting(new(atomic.Int32), func(_ int32, l *Launch) { l.Stale, l.Confined = nil, nil }))
	wantEcho(t, s)
}

// The worker is told the last state of memory, also if that changes while a write blocks.
func TestWorkerIsToldTheLastStateOfMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toWorker, fromHost := io.Pipe()
		p := &process{conn: newConn(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(""), fromHost}, wire.Limits{}, hclog.NewNullLogger())}
		told := []byte{}
		read := func() {
			in := make([]byte, 10) // a header of 9 bytes, and the state
			if _, err := io.ReadFull(toWorker, in); err != nil || wire.Type(in[8]) != wire.TypeShort {
				t.Error(in, err)
			}
			told = append(told, in[9])
			synctest.Wait()
		}
		p.Tell(true)
		synctest.Wait() // until the write blocks
		for _, short := range []bool{true, false, true, false} {
			p.Tell(short)
		}
		read()
		read()
		p.Tell(true)
		read()
		if want := []byte{1, 0, 1}; !bytes.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

// All calls of a worker that cannot be written to end, although its end of the connection stays open.
func TestFailedWriteEndsCalls(t *testing.T) {
	toHost, _ := io.Pipe() // nothing arrives
	broken := errors.New("broken")
	c := newConn(struct {
		io.Reader
		io.Writer
	}{toHost, failingWriter{broken}}, wire.Limits{}, hclog.NewNullLogger())
	done := make(chan error, 1)
	go func() {
		_, err := c.call(&pending{ctx: t.Context(), late: time.Now().Add(time.Hour)}, &call.Request{})
		done <- err
	}()
	waitUntil(t, "the end of the connection", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.closed != nil
	})
	c.fail(errors.New("a later reason"))
	_ = toHost.Close() // the call reads until then
	lost := (*lostError)(nil)
	if err := <-done; !errors.As(err, &lost) || !errors.Is(err, broken) || !lost.sent || !lost.alone {
		t.Errorf("got %v, want the first reason", err)
	}
	if _, err := c.call(&pending{ctx: t.Context()}, &call.Request{}); !errors.Is(err, broken) {
		t.Errorf("a later call: got %v", err)
	}
}

func TestSetupThatCannotBeSentIsReported(t *testing.T) {
	broken := errors.New("broken")
	p := &process{launch: &Launch{}, conn: newConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), failingWriter{broken}}, wire.Limits{}, hclog.NewNullLogger())}
	if err := p.handshake(wire.Setup{}, nil); !errors.Is(err, broken) {
		t.Errorf("got %v, want the reason", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestRequestsForMemoryAreRefusedWithAReason(t *testing.T) {
	memory := budget.New(100 << 20)
	account, err := memory.Open(t.Context(), budget.Call{}, 60<<20, 200<<20)
	if err != nil {
		t.Fatal(err)
	}
	account.Serve(busyWorker{})
	c := discarded(wire.Limits{})
	c.account = account
	for name, test := range map[string]struct {
		request budget.Call
		bytes   int
		err     error
		code    string
	}{
		"beyond the limit of the worker":         {budget.Call{}, 200 << 20, budget.ErrLimit, wire.CreditRefused},
		"beyond the budget":                      {budget.Call{}, 50 << 20, budget.ErrBusy, wire.CreditBusy},
		"beyond the budget, by one that wrote":   {budget.Call{Wrote: true}, 50 << 20, budget.ErrRefused, wire.CreditRefused},
		"within the budget, and the call is old": {budget.Call{}, 1, nil, ""},
	} {
		reply, err := c.grow(t.Context(), test.request, []byte(fmt.Sprint(test.bytes)))
		if !errors.Is(err, test.err) || (reply.Error == nil) != (test.code == "") || reply.Error != nil && reply.Error.Code != test.code {
			t.Errorf("%s: got %+v, %v", name, reply, err)
		}
	}
}

// Each of the two requests for memory counts.
func TestRequestsForMemoryAreBounded(t *testing.T) {
	for _, op := range []string{wire.OpMemory, wire.OpMemoryNow} {
		c := discarded(wire.Limits{OperationBytes: 100})
		p := flight(t, c)
		operation := wire.Frame{Type: wire.TypeOperation, Call: p.number, Payload: bytes.Join(wire.Operation{Op: op, Params: []byte("1")}.Encode(), nil)}
		if err := c.take(operation); !errors.Is(err, wire.ErrProtocol) { // without an account
			t.Errorf("%s: got %v", op, err)
		}
		var err error
		if c.account, err = budget.New(1<<40).Open(t.Context(), budget.Call{}, 1<<20, 1<<20); err != nil {
			t.Fatal(err)
		}
		p.growths = 16<<10 + 1 - 1
		if err := c.take(operation); err != nil {
			t.Errorf("%s: the last request: got %v", op, err)
		}
		p.inFlight.Wait()
		if err := c.take(operation); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%s: got %v", op, err)
		}
	}
}

func TestCallWithoutRecordsIsServed(t *testing.T) {
	s := newSupervisor(t, nil)
	if _, err := s.Call(t.Context(), method("record")); err != nil {
		t.Error(err)
	}
}

// A call that was refused memory and then writes keeps its result: it must not be repeated.
func TestCallThatWritesAfterRefusalIsNotBusy(t *testing.T) {
	for how, want := range map[string]engine.Code{"grow and write": "", "grow and go on": engine.CodeQueue} {
		pool := NewPool(startCredit + 40<<20)
		s := inPool(t, pool, func(c *Config) { c.Queue = 20 * time.Millisecond })
		release := holdCall(t, s)
		if _, err := s.Call(t.Context(), withParams(how, fmt.Sprint(50<<20))); codeOf(t, err) != want {
			t.Errorf("%s: got %v, want the code %q", how, err, want)
		}
		release()
	}
}

// A call that does not begin in time, because an older one needs memory, starts no worker.
func TestCallThatDoesNotBeginStartsNoWorker(t *testing.T) {
	pool := NewPool(startCredit + 40<<20)
	s := inPool(t, pool, nil)
	release := holdCall(t, s)
	var all sync.WaitGroup
	all.Go(func() { _, _ = s.Call(t.Context(), withParams("grow", fmt.Sprint(50<<20))) })
	waitUntil(t, "a call that waits", func() bool { return pool.memory.Waiting() == 1 })
	var launches atomic.Int32
	other := inPool(t, pool, func(c *Config) {
		c.Queue = 20 * time.Millisecond
		counting(&launches, func(int32, *Launch) {})(c)
	})
	if _, err := other.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeQueue || launches.Load() != 0 {
		t.Errorf("got %v after %d starts", err, launches.Load())
	}
	release()
	all.Wait()
}

// A worker that needs more memory while it starts than it can ever get continues without it. One that would have to wait for others ends.
func TestStartingWorkerIsToldThatMemoryIsRefused(t *testing.T) {
	growing := func(c *Config) {
		c.Queue = 20 * time.Millisecond
		counting(new(atomic.Int32), func(_ int32, l *Launch) { l.Setup.Plugin = "growing while loading" })(c)
	}
	pool := NewPool(2*startCredit + 40<<20)
	release := holdCall(t, inPool(t, pool, nil))
	if _, err := inPool(t, pool, growing).Call(t.Context(), withParams("echo", "{}")); codeOf(t, err) != engine.CodeQueue {
		t.Errorf("beyond the budget: got %v", err)
	}
	release()
	limited := inPool(t, NewPool(1<<40), func(c *Config) {
		growing(c)
		counting(new(atomic.Int32), func(_ int32, l *Launch) { l.Setup.Confine.Memory = 60 << 20 })(c)
	})
	if got, err := limited.Call(t.Context(), withParams("echo", "{}")); err != nil || string(got.Body) != "{}" {
		t.Errorf("beyond the worker's limit: got %s, %v", got.Body, err)
	}
}

// A retry waits for other retries, but not longer than its call.
func TestRetryEndsWithItsCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSupervisor(t, func(c *Config) {
		c.Log = hclog.New(&hclog.LoggerOptions{Output: writerFunc(func(line []byte) {
			if bytes.Contains(line, []byte("a worker process ended")) {
				cancel()
			}
		})})
	})
	s.retry <- struct{}{}
	if _, err := s.Call(ctx, method("exit")); codeOf(t, err) != engine.CodeCanceled {
		t.Errorf("got %v", err)
	}
}

type writerFunc func([]byte)

func (w writerFunc) Write(p []byte) (int, error) { w(p); return len(p), nil }

// The code is discarded once. If that fails, the start fails with the reason.
func TestCodeThatCannotBeDiscardedIsReported(t *testing.T) {
	full := errors.New("the disk is full")
	for name, discard := range map[string]func() error{"nothing can be discarded": nil, "it fails": func() error { return full }} {
		var launches atomic.Int32
		s := newSupervisor(t, counting(&launches, func(_ int32, l *Launch) { l.Setup.Plugin, l.Discard = "stale", discard }))
		_, err := s.Call(t.Context(), method("echo"))
		if err == nil || launches.Load() != 1 || errors.Is(err, full) != (discard != nil) || (codeOf(t, err) == engine.CodeStale) != (discard == nil) {
			t.Errorf("%s: got %v after %d starts", name, err, launches.Load())
		}
	}
}

// A worker that has a call is not idle, however long the call takes.
func TestWorkerWithCallDoesNotExpire(t *testing.T) {
	s := newSupervisor(t, nil)
	release := holdCall(t, s)
	p := s.process()
	p.idleSince.Store(1) // 1970
	if s.expire(); s.process() != p {
		t.Error("a worker with a call was retired")
	}
	if s.evict(p) {
		t.Error("a worker with a call was evicted")
	}
	release()
	if s.expire(); s.process() != p {
		t.Error("the worker was retired right after its call")
	}
	p.idleSince.Store(1)
	if s.expire(); s.process() != nil || s.running() != 0 {
		t.Error("the idle worker was not retired")
	}
	if s.evict(p) {
		t.Error("a worker was evicted that had been retired")
	}
}

// A worker with a call is killed when the host is closed, so that the call ends; an idle one exits by itself.
func TestCloseKillsWorkersWithCallsOnly(t *testing.T) {
	s := newSupervisor(t, nil)
	release := holdCallThatFails(t, s, "the host is being closed")
	busy := s.process()
	s.Close()
	if busy.killed.Load() == nil {
		t.Error("a worker with a call was not killed")
	}
	release()
	idle := newSupervisor(t, nil)
	wantEcho(t, idle)
	p := idle.process()
	idle.Close()
	if killed := p.killed.Load(); killed != nil {
		t.Errorf("an idle worker was killed: %s", *killed)
	}
	<-p.gone
	p.killed.Store(nil)
	p.kill("too late")
	if p.kill("later still"); *p.killed.Load() != "too late" {
		t.Errorf("the reason is %q, want the first one", *p.killed.Load())
	}
}

// holdCallThatFails makes a call that lasts until its worker ends, for the given reason. It returns when the call runs.
func holdCallThatFails(t *testing.T, s *Supervisor, want string) (wait func()) {
	t.Helper()
	asked := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		r := withParams("ask", `{}`)
		r.Operate = func(ctx context.Context, _ wire.Operation) wire.Reply {
			close(asked)
			<-ctx.Done()
			return wire.Reply{}
		}
		if _, err := s.Call(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
	})
	<-asked
	return done.Wait
}

// Close ends the start of a worker, for which calls may wait long.
func TestCloseEndsStart(t *testing.T) {
	s := newSupervisor(t, func(c *Config) { c.Plugin = "silent" })
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := s.Call(t.Context(), method("echo")); err == nil {
			t.Error("the call succeeded")
		}
	})
	waitUntil(t, "a start", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.starting != nil && s.starting.waiting == 1 })
	s.Close()
	done.Wait()
}

// A process that loads its module is measured as often as one with calls.
func TestProcessRunsCodeUnlessIdle(t *testing.T) {
	p := &process{}
	if !p.runsCode() {
		t.Error("a process that loads its module counts as idle")
	}
	p.idleSince.Store(1)
	if p.runsCode() {
		t.Error("a process without calls counts as active")
	}
	p.active.Store(1)
	if !p.runsCode() {
		t.Error("a process with a call counts as idle")
	}
}

func TestSetupThatCannotBeEncodedIsReported(t *testing.T) {
	s := newSupervisor(t, counting(new(atomic.Int32), func(_ int32, l *Launch) { l.Setup.Schemas = []json.RawMessage{[]byte("{")} }))
	if _, err := s.Call(t.Context(), method("echo")); err == nil || !strings.Contains(err.Error(), "cannot encode the set-up") {
		t.Errorf("got %v", err)
	}
}

// Only the first bytes of the standard error are kept, and the first line of them is the reason of an end.
func TestStandardErrorIsBounded(t *testing.T) {
	f := &firstBytes{limit: 10}
	for text, want := range map[string]error{"first\n": nil} {
		if n, err := f.Write([]byte(text)); n != len(text) || !errors.Is(err, want) {
			t.Errorf("got %d, %v", n, err)
		}
	}
	for range 2 {
		if _, err := f.Write([]byte("second line")); !errors.Is(err, errFull) || f.data.Len() != 10 {
			t.Errorf("got %v with %d bytes", err, f.data.Len())
		}
	}
	if got := f.firstLine(); got != "first" {
		t.Errorf("got %q", got)
	}
}

// The memory of a launch without bounds is bounded nevertheless.
func TestCreditOfLaunchWithoutBounds(t *testing.T) {
	l := &Launch{}
	if start, limit := l.credit(); start != 32<<20 || limit != 1<<40 {
		t.Errorf("got %d and %d", start, limit)
	}
}

// Only a call that was alone in flight is told that it needed too much memory: otherwise another one may be the cause.
func TestLackOfMemoryIsBlamedOnTheOnlyCall(t *testing.T) {
	s := newSupervisor(t, nil)
	wantEcho(t, s)
	p := s.process()
	s.Close()
	<-p.gone
	p.killed.Store(nil)
	for line, want := range map[string]engine.Code{"fatal error: runtime: out of memory\n": engine.CodeMemory, "fatal error: something else\n": engine.CodeWorkerLost} {
		p.stderr = &firstBytes{limit: 100}
		if _, err := p.stderr.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if got := s.lostCall(p, &lostError{alone: true}); got.Code != want {
			t.Errorf("%q: got %v", line, got)
		}
		if got := s.lostCall(p, &lostError{}); got.Code != engine.CodeWorkerLost {
			t.Errorf("%q, with other calls: got %v", line, got)
		}
	}
}

// Only a start that failed because the code is stale discards the code.
func TestOnlyStaleCodeIsDiscarded(t *testing.T) {
	discarded := 0
	s := newSupervisor(t, counting(new(atomic.Int32), func(_ int32, l *Launch) {
		l.Setup.Plugin, l.Discard = "broken", func() error { discarded++; return nil }
	}))
	if _, err := s.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeInvalidModule || discarded > 0 {
		t.Errorf("got %v, and the code was discarded %d times", err, discarded)
	}
	s = newSupervisor(t, func(c *Config) {
		c.Prepare = func(context.Context) (*Launch, error) {
			return nil, &engine.Error{Code: engine.CodeStale, Message: "stale, and there is no launch"}
		}
	})
	if _, err := s.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeStale {
		t.Errorf("got %v", err)
	}
}

// A start that failed for the moment is not made again for a call that was cancelled.
func TestCancelledStartIsNotRepeated(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		prepared := 0
		s := newSupervisor(t, func(c *Config) {
			c.Prepare = func(context.Context) (*Launch, error) {
				if prepared++; cancels {
					cancel()
				}
				return nil, &startError{Err: errors.New("not now"), Transient: true}
			}
		})
		if _, err := s.launch(ctx, 1); err == nil || (prepared == 1) != cancels {
			t.Errorf("cancelled %t: prepared %d times, %v", cancels, prepared, err)
		}
		cancel()
	}
}

func TestLateCallIsNotRetried(t *testing.T) {
	for limit, want := range map[time.Duration]int32{time.Nanosecond: 1, time.Minute: 2} {
		var launches atomic.Int32
		s := newSupervisor(t, func(c *Config) {
			c.Limits.Time = limit
			counting(&launches, func(int32, *Launch) {})(c)
		})
		if _, err := s.Call(t.Context(), method("exit")); codeOf(t, err) != engine.CodeWorkerLost || !strings.HasSuffix(err.Error(), "exit status 3") || launches.Load() != want {
			t.Errorf("a limit of %v: got %v after %d starts, want %d", limit, err, launches.Load(), want)
		}
	}
}

// The worker's clock decides which error a late call returns: operations end a little later.
func TestOperationsEndSoonAfterTheirCall(t *testing.T) {
	const limit = time.Hour
	s := newSupervisor(t, func(c *Config) { c.Limits.Time = limit })
	r := withParams("ask", "{}")
	began := time.Now()
	r.Operate = func(ctx context.Context, o wire.Operation) wire.Reply {
		deadline, ok := ctx.Deadline()
		if late := 50 * time.Millisecond; !ok || deadline.Before(began.Add(limit+late)) || deadline.After(time.Now().Add(limit+late)) {
			t.Errorf("the operation ends after %v", deadline.Sub(began))
		}
		return wire.Reply{Result: o.Params}
	}
	if _, err := s.Call(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// No operation of a call runs after the call has ended.
func TestOperationsEndWithTheirCall(t *testing.T) {
	s := newSupervisor(t, nil)
	r := method("result with an operation")
	var running atomic.Int32
	r.Operate = func(ctx context.Context, _ wire.Operation) wire.Reply {
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
		return wire.Reply{}
	}
	if _, err := s.Call(t.Context(), r); err == nil || running.Load() != 0 {
		t.Errorf("got %v, and %d operations run", err, running.Load())
	}
}

// A retry that cannot start, or that starts while the host is closed, says so.
func TestRetryThatCannotStartIsReported(t *testing.T) {
	full := errors.New("the disk is full")
	for name, second := range map[string]func(*Supervisor) error{
		"it cannot start":    func(*Supervisor) error { return full },
		"the host is closed": func(s *Supervisor) error { s.Close(); return nil },
	} {
		want := map[string]error{"it cannot start": full, "the host is closed": errClosed}[name]
		var s *Supervisor
		prepared := 0
		s = newSupervisor(t, func(c *Config) {
			prepare := c.Prepare
			c.Prepare = func(ctx context.Context) (*Launch, error) {
				l, err := prepare(ctx)
				if prepared++; prepared == 2 {
					err = second(s)
				}
				return l, err
			}
		})
		if _, err := s.Call(t.Context(), method("exit")); !errors.Is(err, want) || codeOf(t, err) != engine.CodeInternal {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Processor time counts while another plugin has had a call since the previous sample, and none counts at the first one.
func TestSamplesOfProcessorTime(t *testing.T) {
	log := &lines{}
	pool := NewPool(1)
	add := func() (*process, *Supervisor) {
		p, s := &process{command: &exec.Cmd{Process: &os.Process{Pid: -1}}}, &Supervisor{config: Config{Log: hclog.New(&hclog.LoggerOptions{Output: log})}}
		pool.workers[p] = s
		return p, s
	}
	spinning, own := add()
	_, other := add()
	used := time.Hour
	pool.processorTime = func(p *process) (time.Duration, error) {
		if p != spinning {
			return 0, nil
		}
		return used, nil
	}
	calls := map[*Supervisor]int64{}
	for i, step := range []struct {
		own, other int64 // calls since the previous sample
		want       time.Duration
	}{{1, 1, 0}, {1, 0, 0}, {0, 1, time.Second}, {1, 1, 2 * time.Second}, {0, 0, 2 * time.Second}, {1, 1, 3 * time.Second}} {
		own.calls, other.calls = own.calls+step.own, other.calls+step.other
		pool.demoteCrowding(calls)
		if spinning.crowding != step.want || spinning.demoted.Load() != (step.want >= 2*time.Second) {
			t.Errorf("sample %d: %v count, want %v; demoted: %t", i, spinning.crowding, step.want, spinning.demoted.Load())
		}
		used += time.Second
	}
	if n := log.count("its priority is lowered"); n != 1 {
		t.Errorf("%d lines of the log, want 1", n)
	}
}

// One sampling runs for all calls, and none with a single worker.
func TestSamplingRunsOnce(t *testing.T) {
	for workers, want := range map[int]int32{1: 0, 2: 2 * 8} {
		synctest.Test(t, func(t *testing.T) {
			pool := NewPool(1)
			var samples atomic.Int32
			pool.processorTime = func(*process) (time.Duration, error) { samples.Add(1); return 0, nil }
			for range workers {
				p := &process{gone: make(chan struct{})}
				pool.add(&Supervisor{}, p)
				t.Cleanup(func() { close(p.gone) })
			}
			for range 3 {
				pool.begin(&Supervisor{})
			}
			time.Sleep(2*time.Second + time.Millisecond)
			if got := samples.Load(); got != want {
				t.Errorf("%d workers were sampled %d times in 2 s, want %d", workers, got, want)
			}
			for range 3 {
				pool.end()
			}
			time.Sleep(time.Second)
		})
	}
}
