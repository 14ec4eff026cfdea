package worker

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// counting returns a change of the config: Prepare counts the launches and passes each to change.
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

// A call must not run in a worker whose granted directory was replaced during its start, and must not fail either.
func TestWorkerThatIsStaleAtStartGetsNoCall(t *testing.T) {
	var launches atomic.Int32
	s := newSupervisor(t, counting(&launches, func(n int32, l *Launch) {
		if n == 1 {
			l.Stale = func() string { return "the directory was replaced" }
		}
	}))
	wantEcho(t, s)
	if launches.Load() != 2 {
		t.Errorf("%d workers were started: the call ran in one whose grant was replaced", launches.Load())
	}
}

// If a worker is killed because calls exceeded their time limit, these calls are not retried: each retry would use the time
// limit again.
func TestTimedOutCallsAreNotRetried(t *testing.T) {
	testenv.NotShort(t, "waits for time limits")
	t.Parallel()
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

// A call succeeds even if it is the first to notice that the idle worker was killed.
func TestCallSurvivesWorkerKilledWhileIdle(t *testing.T) {
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

// The host enforces a call's limit of operations, since a hostile worker may ignore the limit.
func TestOperationsOfHostileWorkerAreCounted(t *testing.T) {
	s := newSupervisor(t, func(c *Config) { c.Limits.Operations = 10; c.Limits.Time = 500 * time.Millisecond })
	var asked atomic.Int32
	r := method("ask forever")
	r.Operate = func(context.Context, wire.Operation) wire.Reply {
		asked.Add(1)
		return wire.Reply{}
	}
	_, _ = s.Call(t.Context(), r)
	if asked.Load() > 2*10 { // 10 operations of the call, and 10 of its retry
		t.Errorf("the host performed %d operations of a call that may have 10", asked.Load())
	}
}

// A worker that could have namespaces is not replaced by one without them if they cannot be created now.
func TestWorkerIsNotStartedWithoutItsNamespaces(t *testing.T) {
	s := newSupervisor(t, nil)
	var attempts int
	s.prepare = func(cmd *exec.Cmd) confine.Layer {
		attempts++
		layer := confine.Prepare(cmd)
		cmd.Path = filepath.Join(t.TempDir(), "none") // the start fails
		return layer
	}
	if _, err := s.Call(t.Context(), method("echo")); err == nil || attempts != 1 {
		t.Errorf("the call returned %v after %d attempts to start a worker, want an error after 1", err, attempts)
	}
}

// A layer that the system supports may be missing for a moment. Then no module has run, and the call can be repeated.
func TestWorkerThatIsNotConfinedIsStartedAgainOnce(t *testing.T) {
	report := confine.Probe()
	active := slices.IndexFunc(report, func(l confine.Layer) bool { return l.State == confine.Active })
	if active < 0 {
		t.Skip("this system has no layer")
	}
	report[active].State = confine.Missing
	for _, failures := range []int32{1, 2} {
		var launches atomic.Int32
		s := newSupervisor(t, counting(&launches, func(n int32, l *Launch) {
			l.Confined = func(confine.Report) error {
				if n <= failures {
					return report.Check(false)
				}
				return nil
			}
		}))
		_, err := s.Call(t.Context(), withParams("echo", "{}"))
		if failures == 1 && err != nil || failures == 2 && (codeOf(t, err) != engine.CodeQueue || !strings.HasSuffix(err.Error(), ": try again")) || launches.Load() != 2 {
			t.Errorf("after %d starts that failed, and %d in total: got %v", failures, launches.Load(), err)
		}
	}
}

// The host measures its workers, since the kernel does not bound all of their memory.
func TestWorkerBeyondItsMemoryIsEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are measured on Linux only")
	}
	var launches atomic.Int32
	s := newSupervisor(t, counting(&launches, func(_ int32, l *Launch) { l.Setup.Confine.Memory = 32 << 20 }))
	_, err := s.Call(t.Context(), method("hoard"))
	if err == nil || !strings.Contains(err.Error(), "MiB of memory, more than the 32 MiB") || launches.Load() != 1 {
		t.Errorf("after %d launches the call returned %v, want the reason why its worker was ended", launches.Load(), err)
	}
	wantEcho(t, s)
}

// What a worker sends may make the host panic. That ends the worker, and nothing else.
func TestPanicOfHostEndsTheWorkerOnly(t *testing.T) {
	panics := func(context.Context, wire.Operation) wire.Reply { panic("of an operation") }
	for _, test := range []struct {
		name   string
		change func(*Launch)
		call   Hooked
	}{
		{"operation", nil, func() Hooked { r := method("ask"); r.Operate = panics; return r }()},
		{"record", nil, func() Hooked {
			r := method("record")
			r.Record = func(audit.Operation) { panic("of a record") }
			return r
		}()},
		{"derived data", func(l *Launch) { l.Derived = func([]byte) { panic("of derived data") } }, method("derived")},
		{"confinement report", func(l *Launch) { l.Confined = func(confine.Report) error { panic("of a report") } }, method("echo")},
	} {
		t.Run(test.name, func(t *testing.T) {
			var launches atomic.Int32
			var panicking atomic.Bool
			panicking.Store(true)
			s := newSupervisor(t, counting(&launches, func(_ int32, l *Launch) {
				if test.change != nil && panicking.Load() {
					test.change(l)
				}
			}))
			if result, err := s.Call(t.Context(), test.call); err == nil {
				t.Errorf("the call returned %s", result.Body)
			}
			panicking.Store(false)
			s.Retire("the test needs a worker whose host does not panic")
			before := launches.Load()
			wantEcho(t, s)
			if launches.Load() != before+1 {
				t.Errorf("%d workers were started, want a new one", launches.Load()-before)
			}
		})
	}
	t.Run("launch", func(t *testing.T) {
		s := newSupervisor(t, func(c *Config) {
			c.Prepare = func(context.Context) (*Launch, error) { panic("of a launch") }
		})
		if _, err := s.Call(t.Context(), method("echo")); !errors.Is(err, guard.ErrPanic) {
			t.Errorf("the call returned %v, want %v", err, guard.ErrPanic)
		}
	})
}
