//go:build unix

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

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

// Processor time counts while another plugin has had a call since the previous sample, and none counts at the first one. Scripts do not count: they
// wait for the calls of the others that they make.
func TestSamplesOfProcessorTime(t *testing.T) {
	synctest.Test(t, testSamplesOfProcessorTime) // in a bubble no time passes, of which the worker would have a share
}

func testSamplesOfProcessorTime(t *testing.T) {
	log := &lines{}
	pool := NewPool(1)
	add := func() (*process, *Supervisor) {
		p, s := &process{command: &exec.Cmd{Process: &os.Process{Pid: -1}}}, &Supervisor{config: Config{Log: hclog.New(&hclog.LoggerOptions{Output: log})}}
		pool.workers[p] = s
		return p, s
	}
	spinning, own := add()
	_, other := add()
	_, scripts := add()
	scripts.config.CallsOthers = true
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
		own.calls, other.calls, scripts.calls = own.calls+step.own, other.calls+step.other, scripts.calls+1
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

// A worker may use its share of a processor for as long as it lives, and a burst is forgotten.
func TestShareOfProcessorTimeIsNotCrowding(t *testing.T) {
	for name, test := range map[string]struct {
		used func(sample int) time.Duration // since the sample before
		want bool
	}{
		"its share":       {func(int) time.Duration { return fairInterval / fairShare }, false},
		"more":            {func(int) time.Duration { return fairInterval/fairShare + time.Millisecond }, true},
		"rare bursts":     {func(i int) time.Duration { return time.Duration(i%40/39) * 2 * time.Second }, false},
		"frequent bursts": {func(i int) time.Duration { return time.Duration(i%20/19) * 2 * time.Second }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool, busy, used := NewPool(1), &process{command: &exec.Cmd{Process: &os.Process{Pid: -1}}}, time.Hour
				pool.workers[busy] = &Supervisor{config: Config{Log: hclog.NewNullLogger()}}
				other := &Supervisor{config: Config{Log: hclog.NewNullLogger()}}
				pool.workers[&process{}] = other
				pool.processorTime = func(*process) (time.Duration, error) { return used, nil }
				calls := map[*Supervisor]int64{}
				for i := range 10_000 { // 42 minutes
					other.calls++
					pool.demoteCrowding(calls)
					used += test.used(i)
					time.Sleep(fairInterval)
				}
				if busy.demoted.Load() != test.want {
					t.Errorf("the worker was demoted: %t", !test.want)
				}
			})
		})
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
