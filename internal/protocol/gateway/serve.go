package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// How long Serve waits after it has cancelled the calls. The sum of both bounds the time of a shutdown.
const (
	stopGrace   = 400 * time.Millisecond // for calls to end
	answerGrace = 100 * time.Millisecond // for the error responses of the calls that have not ended

	// refuseGrace is how long Serve answers further requests after all calls have ended: they may have been sent before the client could
	// know of the shutdown.
	refuseGrace = 50 * time.Millisecond
)

var errStopped = errors.New("the server is shutting down")

// Serve is ServeDrain with a drain time of zero.
func (g *Gateway) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return g.ServeDrain(ctx, in, out, func() time.Duration { return 0 })
}

// Local is a client in the process of the host, which is asked without messages.
type Local struct {
	Can interaction.Client // what it can be asked
	// Answer answers a request. An *abi.Error refuses it; any other error is a failure of the call. It should return soon
	// after ctx ends.
	Answer func(ctx context.Context, r interaction.Request) (json.RawMessage, error)
	// Approve decides whether a call runs that needs approval; nil: such a call is refused. text is all that the user has to know of it.
	// An error is the reason why the user could not be asked.
	Approve func(ctx context.Context, text string) (interaction.Decision, error)
}

// ServeLocal is Serve for a client that local answers for; nil: nothing can be asked.
func (g *Gateway) ServeLocal(ctx context.Context, in io.Reader, out io.Writer, local *Local) error {
	if local == nil {
		local = &Local{}
	}
	return g.serve(ctx, in, out, func() time.Duration { return 0 }, local)
}

// ServeDrain serves one client: it reads messages from in, one per line, and writes messages to out. A Write has whole
// lines: several if calls end at the same time.
//
// At the end of in, it waits for the calls in flight, writes their responses and returns nil. The duration is bounded by
// the limits of the calls and by the time that the client takes to read.
//
// When ctx ends, it responds to further requests with an error, and lets the calls in flight continue for the duration that drain
// returns. Then it cancels them, responds to the remaining ones with an error, and returns ctx's error at most 500 ms later, even if a
// Write blocks or a call ignores its context. The goroutine of a blocked Read or Write remains until the Read or Write returns; data that
// it reads is dropped.
//
// If a Write fails, it cancels the calls and returns the error.
func (g *Gateway) ServeDrain(ctx context.Context, in io.Reader, out io.Writer, drain func() time.Duration) error {
	return g.serve(ctx, in, out, drain, nil)
}

func (g *Gateway) serve(ctx context.Context, in io.Reader, out io.Writer, drain func() time.Duration, local *Local) error {
	calls, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReading()
	s, w := newLineSession(g.View, out, stop)
	if local != nil {
		s.local, s.can = local, local.Can
	} else {
		s.tasks = &taskRuns{ctx: calls}
	}
	g.register(s)
	defer g.unregister(s)

	read := make(chan error, 1)
	inputEnded := make(chan struct{})
	go func() { read <- s.read(reading, ctx, calls, in); close(inputEnded) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
	case <-calls.Done(): // a Write failed
		stopReading()
	}
	ended := s.finish()
	select {
	case <-ended:
		if ctx.Err() != nil {
			await(inputEnded, refuseGrace)
		}
	case <-ctx.Done():
		if s.shutDown(ended, stop, drain()) {
			await(inputEnded, refuseGrace)
		}
	case <-calls.Done():
		await(ended, stopGrace)
	}
	w.close()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case calls.Err() != nil:
		return context.Cause(calls)
	}
	return err
}

// finish refuses further calls. The channel is closed when every message that was read has its response.
func (s *session) finish() <-chan struct{} {
	s.calls.close()
	s.asks.close() // no answers are read any more
	ended := make(chan struct{})
	go func() {
		s.waitHandled()
		s.calls.ended.Wait()
		if s.tasks != nil {
			s.tasks.Wait()
		}
		s.subscriptions.close(s.view.served.Load().info) // blocks while the client does not read
		close(ended)
	}()
	return ended
}

// waitHandled waits until the current line, if any, is handled: its calls are started or refused.
func (s *session) waitHandled() {
	s.handling.Lock()
	defer s.handling.Unlock()
}

// shutDown waits for calls to end, cancels them after the duration "drain", and responds with an error for those that
// do not end. It reports whether all have ended.
func (s *session) shutDown(ended <-chan struct{}, stop context.CancelCauseFunc, drain time.Duration) bool {
	if await(ended, drain) {
		return true
	}
	stop(errStopped)
	if await(ended, stopGrace) {
		return true
	}
	s.g.log.Warn("cancelled calls have not ended, or the client does not read their responses", "waited", stopGrace)
	answered := make(chan struct{})
	go func() {
		s.calls.failPending()
		s.subscriptions.close(s.view.served.Load().info)
		close(answered)
	}()
	await(answered, answerGrace)
	return false
}

// await waits until done is closed, and reports whether that happened within a duration.
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
