package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// limited is a context with a deadline that starts a timer only when something waits for Done. Most calls wait for nothing: they compare the
// deadline with the clock between two quanta of fuel.
type limited struct {
	context.Context // of the caller; it may end before the deadline
	after           time.Duration
	deadline        time.Time             // without pauses
	timed           atomic.Pointer[timed] // nil until Done is called
	paused          atomic.Bool
	pauses          atomic.Int64 // duration of the pauses that have ended, in nanoseconds

	mu       sync.Mutex // is held to create, stop and reset the timer
	pausedAt time.Time
}

// timed is a context of package context that a timer cancels.
type timed struct {
	context.Context
	cancel context.CancelFunc
	timer  *time.Timer
}

// limit returns a context that ends after a duration. The caller must call its release.
func limit(ctx context.Context, after time.Duration) *limited {
	deadline := time.Now().Add(after)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	return &limited{Context: ctx, after: after, deadline: deadline}
}

// Deadline implements context.Context.
func (l *limited) Deadline() (time.Time, bool) { return l.end(), true }

func (l *limited) end() time.Time { return l.deadline.Add(time.Duration(l.pauses.Load())) }

// Err implements context.Context. It may report the end shortly before Done is closed.
func (l *limited) Err() error {
	if err := l.Context.Err(); err != nil {
		return err
	}
	if !l.paused.Load() && time.Until(l.end()) <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Done implements context.Context.
func (l *limited) Done() <-chan struct{} {
	if t := l.timed.Load(); t != nil {
		return t.Done()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.timed.Load(); t != nil {
		return t.Done()
	}
	t := &timed{}
	t.Context, t.cancel = context.WithCancel(l.Context)
	t.timer = time.AfterFunc(time.Until(l.end()), t.cancel)
	if l.paused.Load() {
		t.timer.Stop()
	}
	l.timed.Store(t)
	return t.Done()
}

// release stops the timer, if there is one.
func (l *limited) release() {
	if t := l.timed.Load(); t != nil {
		t.timer.Stop()
		t.cancel()
	}
}

type limitedKey struct{}

// Value implements context.Context.
func (l *limited) Value(key any) any {
	if key == (limitedKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// PauseTimeLimit stops the clock of a call's time limit until resume is called. It has no effect if the limit has passed.
func PauseTimeLimit(ctx context.Context) (resume func()) {
	l, _ := ctx.Value(limitedKey{}).(*limited)
	if l == nil || !l.pause() {
		return func() {}
	}
	return l.resume
}

func (l *limited) pause() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.timed.Load()
	if l.Err() != nil || t != nil && !t.timer.Stop() {
		return false
	}
	l.pausedAt = time.Now()
	l.paused.Store(true)
	return true
}

func (l *limited) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pauses.Add(int64(time.Since(l.pausedAt)))
	l.paused.Store(false)
	if t := l.timed.Load(); t != nil {
		t.timer.Reset(time.Until(l.end()))
	}
}
