//go:build unix

package worker

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// countedLocks are the locks of a call. They record whether a process of the Supervisor was running when they were released.
type countedLocks struct {
	s                  *Supervisor
	locked, ended, bad *atomic.Int32
}

func (c countedLocks) Lock(context.Context, []byte) error {
	c.locked.Add(1)
	return nil
}

func (c countedLocks) End() {
	c.ended.Add(1)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for p := range c.s.all {
		select {
		case <-p.gone:
		default:
			c.bad.Add(1)
		}
	}
}

// A call's locks are released when it ends, or when its worker has ended: as long as that runs, it may write what the lock protects. A
// call without locks has none to release.
func TestLocksEndWithTheCallOrItsWorker(t *testing.T) {
	for _, c := range []struct {
		method, params string
		code           engine.Code
		calls          int32 // calls with locks, of which the second is the retry
	}{
		{"echo", "{}", "", 0},
		{"lock", "echo", "", 1},
		{"lock", "garbage", engine.CodeWorkerLost, 1},
		{"lock", "half a frame", engine.CodeWorkerLost, 2},
	} {
		t.Run(c.method+" "+c.params, func(t *testing.T) {
			var launches, locked, ended, running atomic.Int32
			var s *Supervisor
			s = newSupervisor(t, counting(&launches, func(_ int32, l *Launch) {
				l.Locks = func() Locks { return countedLocks{s, &locked, &ended, &running} }
			}))
			_, err := s.Call(t.Context(), withParams(c.method, c.params))
			if got := codeOf(t, err); got != c.code {
				t.Errorf("got %v, want the code %q", err, c.code)
			}
			if locked.Load() != c.calls || ended.Load() != c.calls {
				t.Errorf("%d calls acquired a lock, and %d released theirs; want %d", locked.Load(), ended.Load(), c.calls)
			}
			if c.code != "" && running.Load() > 0 {
				t.Error("the locks were released while the worker was running")
			}
		})
	}
}
