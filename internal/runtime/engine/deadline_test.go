package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitedEndsAtDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := limit(t.Context(), time.Minute)
		defer ctx.release()
		if end, ok := ctx.Deadline(); !ok || time.Until(end) != time.Minute {
			t.Errorf("Deadline: got %v, %t; want a minute from now", end, ok)
		}
		time.Sleep(time.Minute - 1)
		if err := ctx.Err(); err != nil {
			t.Errorf("before the deadline: %v", err)
		}
		if ctx.timed.Load() != nil {
			t.Error("there is a timer, but nothing waits for the end")
		}
		time.Sleep(time.Nanosecond)
		if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at the deadline: got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

func TestLimitedWakesThoseThatWait(t *testing.T) {
	for name, c := range map[string]struct {
		parent time.Duration // time limit of the parent; 0: it is cancelled at once
		after  time.Duration // time until both contexts must have ended
		want   error
	}{
		"at the deadline":               {time.Hour, time.Minute, context.DeadlineExceeded},
		"at the deadline of the parent": {time.Second, time.Second, context.DeadlineExceeded},
		"when the parent is cancelled":  {0, 0, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.parent > 0 {
					parent, cancel = context.WithTimeout(parent, c.parent)
					defer cancel()
				}
				ctx := limit(parent, time.Minute)
				defer ctx.release()
				derived, stop := context.WithCancel(ctx)
				defer stop()
				began := time.Now()
				var waiting sync.WaitGroup
				for _, one := range []context.Context{ctx, ctx, derived} {
					waiting.Go(func() { <-one.Done() })
				}
				synctest.Wait()
				if c.parent == 0 {
					cancel()
				}
				waiting.Wait()
				if took := time.Since(began); took != c.after {
					t.Errorf("ended after %v, want %v", took, c.after)
				}
				if ctx.Err() != c.want || derived.Err() != c.want {
					t.Errorf("Err: got %v, and %v of the derived context; want %v", ctx.Err(), derived.Err(), c.want)
				}
			})
		})
	}
}

func TestReleasedLimitedHasNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := limit(t.Context(), time.Minute)
		done := ctx.Done()
		ctx.release()
		select {
		case <-done:
		default:
			t.Error("Done is open after release, so the timer runs")
		}
	})
}
