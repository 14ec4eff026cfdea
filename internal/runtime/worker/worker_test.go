package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// newSupervisor returns a Supervisor of fake workers. Change, unless nil, modifies its config.
func newSupervisor(t *testing.T, change func(*Config)) *Supervisor {
	t.Helper()
	c := Config{
		Plugin: "it", Command: reexec.Command("fake"), Queue: time.Minute, Pool: NewPool(1 << 40), Log: hclog.NewNullLogger(),
		Limits: wire.Limits{Memory: 1 << 20, Input: 1 << 20, Output: 1 << 20, Time: time.Minute, LogSize: 1 << 10, Operations: 100, OperationBytes: 1 << 20, Concurrency: 64},
	}
	c.Prepare = func(context.Context) (*Launch, error) {
		return &Launch{
			Setup: wire.Setup{Plugin: c.Plugin}, Stale: func() string { return "" }, Confined: func(confine.Report) error { return nil },
		}, nil
	}
	if change != nil {
		change(&c)
	}
	s := New(c)
	t.Cleanup(s.Close)
	return s
}

func method(name string) Hooked { return withParams(name, "") }

func withParams(name, params string) Hooked {
	return Hooked{Request: &call.Request{Method: name, Params: []byte(params)}, Operate: func(ctx context.Context, operation wire.Operation) wire.Reply {
		if operation.Op == "hang" {
			<-ctx.Done()
		}
		return wire.Reply{Result: operation.Params}
	}}
}

// codeOf returns the code of a call's error; "" for nil.
func codeOf(t *testing.T, err error) engine.Code {
	t.Helper()
	var failure *engine.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &failure):
		t.Fatalf("%T is no *engine.Error: %v", err, err)
	}
	return failure.Code
}

func wantEcho(t *testing.T, s *Supervisor) {
	t.Helper()
	if r, err := s.Call(t.Context(), withParams("echo", `{"a":1}`)); err != nil || string(r.Body) != `{"a":1}` {
		t.Errorf("the call after a failed one: got %q, %v", r.Body, err)
	}
}

func TestConcurrentCallsGetTheirOwnResults(t *testing.T) {
	s := newSupervisor(t, nil)
	const n = 32
	for range 20 {
		var got sync.Map
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				r, err := s.Call(t.Context(), withParams("later", fmt.Sprint(n)))
				if _, twice := got.LoadOrStore(string(r.Body), true); err != nil || twice {
					t.Errorf("got the result %q, %v; another call has the same result: %v", r.Body, err, twice)
				}
			})
		}
		all.Wait()
		wantEcho(t, s)
	}
}

func TestMixedCallsUnderLoad(t *testing.T) {
	s := newSupervisor(t, nil)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 200 {
				params := fmt.Sprintf(`{"i":%d,"n":%d,"pad":%q}`, i, n, strings.Repeat("x", n*i%5000))
				name := "echo"
				if n%3 == 0 {
					name = "ask"
				}
				if r, err := s.Call(t.Context(), withParams(name, params)); err != nil || string(r.Body) != params {
					t.Errorf("%s: got a result of %d bytes, %v; want the parameters", name, len(r.Body), err)
				}
			}
		})
	}
	all.Wait()
}

func TestHostileWorkerLosesItsOwnCallsOnly(t *testing.T) {
	for _, how := range []string{
		"garbage", "unknown type", "frame of the host", "result of another call", "short result", "kind", "large result", "half a frame", "no JSON", "no object",
		"no UTF-8", "deep", "deep error", "deep ask", "infinite number", "duplicate member", "no error", "two operations", "result with an operation", "log flood", "log garbage", "record garbage", "abort", "exit",
		"derived flood", "empty derived flood", "large derived frame", "more credit returned than granted", "short return of credit",
		"request for credit that is no number", "request for negative credit",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newSupervisor(t, nil)
			wantEcho(t, s)
			_, err := s.Call(t.Context(), method(how))
			if code := codeOf(t, err); code != engine.CodeWorkerLost {
				t.Errorf("got %q: %v", code, err)
			}
			wantEcho(t, s)
		})
	}
	t.Run("two results", func(t *testing.T) {
		s := newSupervisor(t, nil)
		if _, err := s.Call(t.Context(), method("two results")); err != nil {
			t.Error(err)
		}
		// This call reads the second result and fails, unless the first one has read it already.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = s.Call(ctx, method("hold"))
		wantEcho(t, s)
	})
	t.Run("no failure", func(t *testing.T) {
		s := newSupervisor(t, nil)
		if _, err := s.Call(t.Context(), method("no failure")); codeOf(t, err) != engine.CodeWorkerLost {
			t.Error(err)
		}
	})
	t.Run("stderr flood", func(t *testing.T) {
		s := newSupervisor(t, nil)
		_, _ = s.Call(t.Context(), method("stderr flood"))
		wantEcho(t, s)
	})
}

func TestStalledWorkerIsReplaced(t *testing.T) {
	testenv.NotShort(t, "waits for time limits")
	t.Parallel()
	s := newSupervisor(t, func(c *Config) { c.Limits.Time = 10 * time.Millisecond })
	_, err := s.Call(t.Context(), method("write"))
	if code := codeOf(t, err); code != engine.CodeWorkerLost {
		t.Errorf("got %q: %v", code, err)
	}
	wantEcho(t, s)
}

// TestWorkerThatReadsNoReplyIsReplaced has a worker that sends a result but does not read the reply to an operation. The call
// must end, and the next call must get a new worker.
func TestWorkerThatReadsNoReplyIsReplaced(t *testing.T) {
	testenv.NotShort(t, "waits for time limits")
	t.Parallel()
	s := newSupervisor(t, func(c *Config) { c.Limits.Time = 200 * time.Millisecond })
	r := method("no reading")
	r.Operate = func(context.Context, wire.Operation) wire.Reply { return wire.Reply{Result: make([]byte, 16<<20)} }
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.Call(t.Context(), r) // may succeed, since the worker has sent a result
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the call does not end")
	}
	wantEcho(t, s)
}

// TestEvictDoesNotWaitForLock checks that evict, which is called with the Pool's lock, does not wait for the Supervisor's
// lock, which may be held during file operations.
func TestEvictDoesNotWaitForLock(t *testing.T) {
	s := newSupervisor(t, nil)
	wantEcho(t, s)
	s.mu.Lock()
	evicted := s.evict(s.current)
	s.mu.Unlock()
	if evicted {
		t.Error("evict ended the process while the test holds the Supervisor's lock")
	}
}

func TestClosedSupervisorAdoptsNoWorker(t *testing.T) {
	s := newSupervisor(t, nil)
	p, err := s.launch(t.Context(), budget.Call{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := s.adopt(p); err == nil {
		t.Error("adopt accepted a process although the Supervisor is closed")
	}
	<-p.gone
}

func TestCancelledCallKeepsItsWorker(t *testing.T) {
	s := newSupervisor(t, nil)
	wantEcho(t, s) // starts the worker
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := s.Call(ctx, method("hold"))
	if code := codeOf(t, err); code != engine.CodeCanceled {
		t.Errorf("got %q: %v", code, err)
	}
	if n := s.running(); n != 1 {
		t.Errorf("%d workers run, want 1: the worker of a cancelled call must not be ended", n)
	}
}

func TestWorkerThatCannotStart(t *testing.T) {
	for plugin, want := range map[string]struct {
		code    engine.Code
		message string
	}{
		"broken":                  {"invalid_module", "it is no module"},
		"broken and hanging":      {"invalid_module", "it is no module"},
		"crashing":                {engine.CodeInternal, "exit status 2: fatal error: no luck"},
		"early":                   {engine.CodeInternal, "protocol violation"},
		"operating while loading": {engine.CodeInternal, "protocol violation: an operation before the module was loaded"},
		"garbage while loading":   {engine.CodeInternal, "protocol violation"},
		"garbage in the log":      {engine.CodeInternal, "protocol violation"},
	} {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel()
			var launches atomic.Int32
			s := newSupervisor(t, counting(&launches, func(_ int32, l *Launch) { l.Setup.Plugin = plugin }))
			for n := range int32(2) {
				if _, err := s.Call(t.Context(), method("echo")); codeOf(t, err) != want.code || !strings.Contains(err.Error(), want.message) {
					t.Errorf("got %v, want the code %s and %q", err, want.code, want.message)
				}
				if got := launches.Load(); got != n+1 {
					t.Errorf("%d workers were started for %d calls", got, n+1)
				}
			}
			if n := s.running(); n != 0 {
				t.Errorf("%d workers run, want none", n)
			}
		})
	}
	t.Run("silent, and the caller gives up", func(t *testing.T) {
		s := newSupervisor(t, func(c *Config) { c.Plugin = "silent" })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := s.Call(ctx, method("echo")); codeOf(t, err) != engine.CodeCanceled {
			t.Errorf("got %v", err)
		}
	})
}

// TestCallsWithoutEffectsAreRetriedInNewWorker ends a worker by one of its calls. Concurrent calls without effects are retried;
// calls that may have had an effect fail.
func TestCallsWithoutEffectsAreRetriedInNewWorker(t *testing.T) {
	testenv.NotShort(t, "waits for time limits")
	t.Parallel()
	for _, how := range []string{"exit", "memory"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newSupervisor(t, nil)
			wantEcho(t, s)
			var all sync.WaitGroup
			ready := make(chan struct{}, 8)
			asking := func(ctx context.Context, operation wire.Operation) wire.Reply {
				ready <- struct{}{}
				return wire.Reply{Result: operation.Params}
			}
			for range 4 {
				all.Go(func() {
					first := true
					r := withParams("ask", `{}`)
					r.Operate = func(ctx context.Context, operation wire.Operation) wire.Reply {
						if first {
							first = false
							asking(ctx, operation)
							<-ctx.Done() // the end of the worker
						}
						return wire.Reply{Result: operation.Params}
					}
					r.Method = "ask"
					got, err := s.Call(t.Context(), r)
					// The unknown operation "op" may have an effect, so the call is not retried.
					if codeOf(t, err) != engine.CodeWorkerLost {
						t.Errorf("a call with an operation, whose worker ends: got %q, %v; want it lost", got.Body, err)
					}
				})
			}
			var held sync.WaitGroup
			for range 3 {
				held.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					defer cancel()
					// The first worker does not answer the call. The call is then retried in a new worker and cancelled there.
					if _, err := s.Call(ctx, method("hold")); codeOf(t, err) != engine.CodeCanceled {
						t.Errorf("a retried call that is cancelled: got %v", err)
					}
				})
			}
			for range 4 {
				<-ready
			}
			want := engine.CodeWorkerLost
			if how == "memory" {
				want = engine.CodeMemory
			}
			if _, err := s.Call(t.Context(), method(how)); codeOf(t, err) != want {
				t.Errorf("the call that ended the worker: got %v, want the code %s", err, want)
			}
			all.Wait()
			held.Wait()
			wantEcho(t, s)
		})
	}
}

func TestStaleWorkerGetsNoMoreCallsAndDrains(t *testing.T) {
	var stale atomic.Bool
	s := newSupervisor(t, func(c *Config) {
		prepare := c.Prepare
		c.Prepare = func(ctx context.Context) (*Launch, error) {
			l, err := prepare(ctx)
			first := !stale.Load()
			l.Stale = func() string {
				if first && stale.Load() {
					return "the directory was replaced"
				}
				return ""
			}
			return l, err
		}
	})
	worker := func() string {
		r, err := s.Call(t.Context(), method("who"))
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Body)
	}
	first := worker()
	asked, goOn := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		r := withParams("ask", `{"drained":1}`)
		r.Operate = func(_ context.Context, operation wire.Operation) wire.Reply {
			close(asked)
			<-goOn
			return wire.Reply{Result: operation.Params}
		}
		if got, err := s.Call(t.Context(), r); err != nil || string(got.Body) != `{"drained":1}` {
			t.Errorf("the call in the retired worker: got %q, %v", got.Body, err)
		}
	})
	<-asked
	stale.Store(true)
	second := worker()
	if first == second || s.running() != 2 {
		t.Errorf("calls before and after the replacement ran in the workers %s and %s, want different ones; %d workers run, want 2", first, second, s.running())
	}
	close(goOn)
	all.Wait()
	if s.running() != 1 {
		t.Errorf("%d workers run, want 1", s.running())
	}
	if third := worker(); third != second {
		t.Error("the end of the retired worker replaced the current one")
	}
}

func TestIdleWorkerEnds(t *testing.T) {
	s := newSupervisor(t, func(c *Config) { c.Idle = time.Millisecond })
	for range 3 {
		wantEcho(t, s)
		for s.running() > 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestOperationsAndErrors(t *testing.T) {
	s := newSupervisor(t, nil)
	r := withParams("ask", "{}")
	r.Operate = func(context.Context, wire.Operation) wire.Reply {
		return wire.Reply{Error: &abi.HostError{Code: abi.HostDenied, Message: "no"}}
	}
	if _, err := s.Call(t.Context(), r); codeOf(t, err) != engine.CodeWorkerLost { // the fake answers with an empty result
		t.Errorf("got %v", err)
	}
	if _, err := s.Call(t.Context(), withParams("echo", strings.Repeat(" ", 2<<20))); codeOf(t, err) != engine.CodeInputSize {
		t.Errorf("got %v", err)
	}
	s.Close()
	if _, err := s.Call(t.Context(), method("echo")); err == nil {
		t.Error("Call succeeded on a closed Supervisor")
	}
}
