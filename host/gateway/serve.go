package gateway

import (
	"context"
	"errors"
	"io"
	"time"
)

// How long Serve waits once calls have been cancelled: for them to end, which a backend's do within
// milliseconds, and for the answers to those that did not to be written. Together they bound it.
const (
	stopGrace   = 400 * time.Millisecond
	answerGrace = 100 * time.Millisecond
)

var errStopped = errors.New("the server is shutting down")

// Serve is ServeDrain without a drain: when ctx ends, calls are cancelled at once.
func (g *Gateway) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return g.ServeDrain(ctx, in, out, 0)
}

// ServeDrain answers what one client sends on in, one message a line, with lines on out; each message is
// one Write.
//
// When in ends, the answers still owed are written and ServeDrain returns nil. Only the calls' own limits
// bound how long that takes, and a client that does not read.
//
// When ctx ends, no further message is read, and calls in flight may go on for the time drain. Then they are
// cancelled, whatever is still unanswered is answered with an error, and ctx's error is returned, at the
// latest 500 ms after that, also while a Write blocks or a call ignores its context. A Read or Write that is
// still blocked then keeps its goroutine until it returns; what was read is dropped.
//
// When out breaks, calls are cancelled and the error is returned.
func (g *Gateway) ServeDrain(ctx context.Context, in io.Reader, out io.Writer, drain time.Duration) error {
	calls, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	s := newSession(g, out, stop)
	g.register(s)
	defer g.unregister(s)

	read := make(chan error, 1)
	go func() { read <- s.read(reading, calls, in) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
	case <-calls.Done(): // out is broken
	}
	stopReading()
	ended := s.finish()
	select {
	case <-ended:
	case <-ctx.Done():
		s.shutDown(ended, stop, drain)
	case <-calls.Done():
		await(ended, stopGrace)
	}
	s.out.close()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case calls.Err() != nil:
		return context.Cause(calls)
	}
	return err
}

// finish lets no more calls in. The channel is closed when all that was read is answered.
func (s *session) finish() <-chan struct{} {
	s.calls.close()
	ended := make(chan struct{})
	go func() {
		s.handled()
		s.calls.ended.Wait()
		s.watch.close(s.out, s.g.info) // a client that does not read holds this up too
		close(ended)
	}()
	return ended
}

// handled waits until the line that is being answered has started its calls, or refused them.
func (s *session) handled() {
	s.handling.Lock()
	defer s.handling.Unlock()
}

// shutDown waits for calls to end, cancels them after the time drain, and answers those that ignore that.
func (s *session) shutDown(ended <-chan struct{}, stop context.CancelCauseFunc, drain time.Duration) {
	if await(ended, drain) {
		return
	}
	stop(errStopped)
	if await(ended, stopGrace) {
		return
	}
	s.g.log.Warn("calls went on after they were cancelled, or the client does not read its answers", "waited", stopGrace)
	answered := make(chan struct{})
	go func() {
		s.calls.abandon()
		s.watch.close(s.out, s.g.info)
		close(answered)
	}()
	await(answered, answerGrace)
}

// await tells whether done was closed within a time.
func await(done <-chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
