//go:build unix

package worker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

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

// starts is an Observer that counts starts.
type starts struct{ succeeded, failed int }

func (s *starts) WorkerStarted(_ string, _ time.Duration, err error) {
	if err != nil {
		s.failed++
	} else {
		s.succeeded++
	}
}

func (*starts) WorkerEnded(string, string) {}

// TestOnlyFailedStartsAreReported starts workers that their calls no longer wait for, that have no memory, and whose grant has changed.
func TestOnlyFailedStartsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		plugin string
		err    error
		cancel bool
		want   starts
	}{
		"it starts":        {plugin: "it", want: starts{succeeded: 1}},
		"it fails":         {plugin: "broken", want: starts{failed: 1}},
		"it is cancelled":  {plugin: "it", cancel: true},
		"it has no memory": {err: &engine.Error{Code: engine.CodeQueue}},
		"it is replaced":   {err: &engine.Error{Code: engine.CodeReplaced}},
	} {
		var got starts
		ctx, cancel := context.WithCancel(t.Context())
		s := newSupervisor(t, func(config *Config) {
			config.Plugin = c.plugin
			config.Pool.Observe(&got)
			prepare := config.Prepare
			config.Prepare = func(ctx context.Context) (*Launch, error) {
				if c.cancel {
					cancel()
				}
				if c.err != nil {
					return nil, c.err
				}
				return prepare(ctx)
			}
		})
		if p, err := s.launch(ctx, budget.Call{}); err == nil {
			p.end()
		}
		if got != c.want {
			t.Errorf("%s: reported %+v, want %+v", name, got, c.want)
		}
		cancel()
	}
}
