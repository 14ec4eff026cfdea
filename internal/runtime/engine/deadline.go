package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// limited is a context with a deadline that starts a timer only when something waits for Done. Most calls wait for nothing: they compare the
// deadline with the clock between two quanta of fuel.
type limited struct {
	context.Context // of the caller; it may end before the deadline
	deadline        time.Time
	timed           atomic.Pointer[timed] // nil until Done is called
}

// timed is a context of package context, which has a timer.
type timed struct {
	context.Context
	cancel context.CancelFunc
}

// limit returns a context that ends after a duration. The caller must call its release.
func limit(ctx context.Context, after time.Duration) *limited {
	deadline := time.Now().Add(after)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	return &limited{Context: ctx, deadline: deadline}
}

// Deadline implements context.Context.
func (l *limited) Deadline() (time.Time, bool) { return l.deadline, true }

// Err implements context.Context. It may report the end shortly before Done is closed.
func (l *limited) Err() error {
	if err := l.Context.Err(); err != nil {
		return err
	}
	if time.Until(l.deadline) <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Done implements context.Context.
func (l *limited) Done() <-chan struct{} {
	if t := l.timed.Load(); t != nil {
		return t.Done()
	}
	t := &timed{}
	t.Context, t.cancel = context.WithDeadline(l.Context, l.deadline)
	if !l.timed.CompareAndSwap(nil, t) {
		t.cancel()
	}
	return l.timed.Load().Done()
}

// release stops the timer, if there is one.
func (l *limited) release() {
	if t := l.timed.Load(); t != nil {
		t.cancel()
	}
}
