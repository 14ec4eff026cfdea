package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/worker/wire"
)

// counting makes Prepare count the launches; change may change each.
func counting(launches *atomic.Int32, change func(n int32, l *Launch)) func(*Config) {
	return func(c *Config) {
		prepare := c.Prepare
		c.Prepare = func(ctx context.Context) (*Launch, error) {
			l, err := prepare(ctx)
			change(launches.Add(1), l)
			return l, err
		}
	}
}

// A granted directory that is replaced while the worker starts must not cost the call that waits for it.
func TestWorkerThatBecameStaleWhileItStartedGetsNoCall(t *testing.T) {
	var launches atomic.Int32
	s := newSupervisor(t, counting(&launches, func(n int32, l *Launch) {
		if n == 1 {
			l.Stale = func() string { return "the directory is another one now" }
		}
	}))
	wantEcho(t, s)
	if launches.Load() != 2 {
		t.Errorf("%d workers were started: the call ran in one whose grant was replaced", launches.Load())
	}
}

// A worker that was killed because calls were over time has cost them their time: they are not made again, one
// after the other, each for as long once more.
func TestCallsOverTimeAreNotMadeAgain(t *testing.T) {
	var launches atomic.Int32
	s := newSupervisor(t, func(c *Config) {
		c.Limits.Time = 10 * time.Millisecond
		counting(&launches, func(int32, *Launch) {})(c)
	})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := s.Call(t.Context(), method("hold")); err == nil {
				t.Error("a call that never ends was answered")
			}
		})
	}
	all.Wait()
	if launches.Load() != 1 {
		t.Errorf("%d workers were started for 3 calls that exceeded their time in the first", launches.Load())
	}
}

// A worker that somebody killed while it was idle is not to blame, also if its end is noticed only by the call.
func TestCallSurvivesAWorkerThatWasKilledWhileIdle(t *testing.T) {
	s := newSupervisor(t, nil)
	for range 20 {
		wantEcho(t, s)
		s.mu.Lock()
		p := s.current
		s.mu.Unlock()
		_ = p.command.Process.Kill()
		wantEcho(t, s)
	}
}

// What a call's worker asks for counts against the call's limit of operations in the host too.
func TestOperationsOfAHostileWorkerAreCounted(t *testing.T) {
	s := newSupervisor(t, func(c *Config) { c.Limits.Operations = 10; c.Limits.Time = 500 * time.Millisecond })
	var asked atomic.Int32
	r := method("ask forever")
	r.Ask = func(context.Context, wire.Ask) wire.Reply {
		asked.Add(1)
		return wire.Reply{}
	}
	_, _ = s.Call(t.Context(), r)
	if asked.Load() > 2*10 { // of the call, and of its repetition
		t.Errorf("the host performed %d operations of a call that may have 10", asked.Load())
	}
}
