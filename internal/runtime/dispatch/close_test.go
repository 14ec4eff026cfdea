package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCloseIsBoundedByItsContext checks that a closer that hangs delays neither the other closers nor Close.
func TestCloseIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		broken := errors.New("broken")
		closed := false
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := closeAll(ctx, []*closer{
			{name: "plugin slow", close: func() error { <-hang; return nil }},
			{name: "plugin broken", close: func() error { return broken }},
			{name: "the audit log", close: func() error { closed = true; return nil }},
		})
		if !closed || !errors.Is(err, broken) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "plugin slow") {
			t.Errorf("closed %t, error %v", closed, err)
		}
		close(hang)
	})
}

func TestFinishedCloserIsNotReportedAsTimedOut(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	c := &closer{name: "it", done: make(chan error, 1)}
	c.done <- nil
	if err := c.wait(done); err != nil {
		t.Error(err)
	}
}

// TestCloseDoesNotWaitForBackgroundWork checks that Close returns during a compilation, which cannot be interrupted.
func TestCloseDoesNotWaitForBackgroundWork(t *testing.T) {
	d := &Dispatcher{}
	d.stopped, d.stop = context.WithCancel(context.Background())
	compiled := make(chan struct{})
	d.background.Go(func() { <-compiled })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close: %v", err)
	}
	close(compiled)
}
