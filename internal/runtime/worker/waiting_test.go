package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

func TestWaitIsReportedAtIntervalsUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		time.AfterFunc(3*waitingInterval+waitingInterval/2, func() { close(done) })
		reports := 0
		waitReporting(t.Context(), done, func() { reports++ })
		if reports != 3 {
			t.Errorf("got %d reports in a wait of 3.5 intervals, want 3", reports)
		}
	})
}

// A call that is cancelled before it begins starts no worker, which would continue to be prepared after the call has returned.
func TestCancelledCallStartsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var launches atomic.Int32
		s := newSupervisor(t, func(c *Config) {
			c.Prepare = func(context.Context) (*Launch, error) {
				launches.Add(1)
				return nil, errors.New("nothing is started here")
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Call(ctx, method("echo"))
		if got := codeOf(t, err); got != engine.CodeCanceled {
			t.Errorf("got %v, want a cancellation", err)
		}
		synctest.Wait()
		if launches.Load() > 0 {
			t.Error("a worker was prepared for a cancelled call")
		}
	})
}

func TestShortOrCancelledWaitIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), waitingInterval/2)
		defer cancel()
		waitReporting(ctx, nil, func() { t.Error("a wait of half an interval was reported") })
		waitReporting(ctx, nil, nil)
	})
}
