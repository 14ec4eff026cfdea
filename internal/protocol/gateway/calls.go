package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// call starts a request that the backend executes. Whatever the gateway can refuse, it refuses before it calls
// the backend.
func (s *session) call(ctx context.Context, m *message, meta requestMeta, how method, to Peer) {
	c := &clientRequest{session: s, how: how, meta: meta, size: int64(m.size)}
	var err *abi.Error
	c.Request, err = s.backendRequest(m, meta, how)
	if err == nil && interaction.Supports(m.method) {
		err = c.interact(m)
	}
	if err != nil {
		putError(to, m.id, err)
		return
	}
	if s.subscriptions.isOpen(m.id) {
		putError(to, m.id, streamIDInUse())
		return
	}
	if err = c.planTask(m); err != nil {
		putError(to, m.id, err)
		return
	}
	ctx, stop := context.WithCancel(ctx)
	c.notifier = newNotifier(s, &c.Request, meta, to)
	c.entry, err = s.calls.add(m, to, func() { c.notifier.stop(); stop() })
	if err != nil {
		stop()
		putError(to, m.id, err)
		return
	}
	if !how.list {
		c.start(ctx, s.startWork, func() {})
		return
	}
	release := func() { <-s.lists }
	select {
	case s.lists <- struct{}{}:
		c.start(ctx, s.startWork, release)
	default:
		go func() { // the reader must not block: the next message may cancel a running list
			select {
			case s.lists <- struct{}{}:
				c.start(ctx, s.runners.start, release)
			case <-ctx.Done():
				c.end(nil, shuttingDown(), func() {})
			}
		}()
	}
}

// maxLists bounds the list requests of a session whose responses are not written yet. Until then a page takes up to
// MaxPage or MaxWhole bytes of memory, which no plugin's limit includes. Further list requests wait, but not in a
// plugin's queue.
const maxLists = 8

// clientRequest is a request from its message until its response is sent.
type clientRequest struct {
	call.Request
	session  *session
	entry    *entry
	how      method
	meta     requestMeta
	notifier *notifier
	ahead    []byte // answers that the client sent before it was asked; nil if none
	size     int64  // bytes that the request retains
}

// start queues the request and passes the function that executes it to "work". release is called when the response is written.
func (c *clientRequest) start(ctx context.Context, work func(func()), release func()) {
	queued, err := c.find()
	if err != nil {
		c.end(nil, err, release)
		return
	}
	if c.Task != "" {
		work(func() { c.respondWithTask(ctx, queued, release) })
		return
	}
	work(func() { c.respond(ctx, queued, release) })
}

// find returns the request as one that can be executed.
func (c *clientRequest) find() (Queued, *abi.Error) {
	if c.how.task {
		return &taskRequest{clientRequest: c}, nil
	}
	return c.session.view.find(c.Request)
}

// respond executes the request and sends its response. If the call asks its client, a client of the modern era gets the ask as the
// response; another one is asked, and the request is executed again with its answers.
func (c *clientRequest) respond(ctx context.Context, queued Queued, release func()) {
	for {
		result, ask, err := c.execute(ctx, queued)
		if ask == nil {
			c.end(result, err, release)
			answered(queued)
			return
		}
		answered(queued) // nothing of the backend is held while the client is asked
		result, again, err := c.ask(ctx, queued, ask)
		if again {
			queued, err = c.session.view.find(c.Request)
		}
		if !again || err != nil {
			c.end(result, err, release)
			return
		}
	}
}

func answered(queued Queued) {
	if held, ok := queued.(ResponseWritten); ok {
		held.ResponseWritten()
	}
}

// startWork calls work in a goroutine, or has Handle return it. It may be called only while a message is handled.
func (s *session) startWork(work func()) {
	if s.single {
		s.taken = work
		return
	}
	s.runners.start(work)
}

// runners are goroutines that execute requests. A few of them wait for further requests, because the stack of a new goroutine has to
// grow several times.
type runners struct {
	work chan func() // unbuffered: a send succeeds if a runner waits
	idle atomic.Int32
	end  <-chan struct{} // closed when idle runners have to end
}

// maxIdleRunners is the number of concurrent calls that a client is likely to make. Their stacks take up to 1 MiB.
const maxIdleRunners = 64

// start calls work in a goroutine.
func (r *runners) start(work func()) {
	select {
	case r.work <- work:
	default:
		go r.loop(work)
	}
}

func (r *runners) loop(work func()) {
	for {
		work()
		if r.idle.Add(1) > maxIdleRunners {
			r.idle.Add(-1)
			return
		}
		select {
		case work = <-r.work:
			r.idle.Add(-1)
		case <-r.end:
			return
		}
	}
}

// encode encodes a result for the era of the request.
func (c *clientRequest) encode(result call.Result) []byte {
	if c.meta.modern && result.Body != nil {
		return withoutBreaks(modern(result, c.meta.served.info, c.how.cached, c.meta.served.config.Private))
	}
	return withoutBreaks(result.Body)
}

// end sends the response, whose result is encoded, unless the call was cancelled or failPending has sent one.
func (c *clientRequest) end(result []byte, err *abi.Error, release func()) {
	s, e := c.session, c.entry
	defer s.calls.done(e)
	defer release()
	c.notifier.close()
	id := []byte(e.id)
	switch {
	case !s.calls.claim(e):
		if !e.failed {
			e.to.Skip()
		}
	case err != nil:
		putError(e.to, id, c.meta.translated(err))
	default:
		putResult(e.to, id, result)
	}
}

// find calls the backend's Find and recovers from a panic.
func (v *View) find(r call.Request) (queued Queued, err *abi.Error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = v.g.recovered("in the look-up of a request", fault, "method", r.Method, "name", visible.Name(r.Name))
		}
	}()
	return v.backend.Find(r)
}

// recovered logs a panic, and returns the error for the client.
func (g *Gateway) recovered(doing string, fault any, pairs ...any) *abi.Error {
	return &abi.Error{Code: abi.CodeInternal, Message: guard.Recovered(g.log, doing, fault, pairs...).Error()}
}

// execute executes the request and returns an encoded result, an ask or an error. A panic becomes an error.
func (c *clientRequest) execute(ctx context.Context, queued Queued) (result []byte, ask *Ask, failure *abi.Error) {
	defer func() {
		if fault := recover(); fault != nil {
			result, ask, failure = nil, nil, c.session.g.recovered("in a call", fault, "method", c.Method, "name", visible.Name(c.Name))
		}
	}()
	return c.run(ctx, queued)
}

// run executes the request.
func (c *clientRequest) run(ctx context.Context, queued Queued) ([]byte, *Ask, *abi.Error) {
	g := c.session.g
	result, err := c.invoke(ctx, queued)
	var failure *Failure
	var own *abi.Error
	var ask *Ask
	switch {
	case err == nil:
		why := ""
		if !c.how.list && !c.meta.served.config.Checked {
			why = call.Check(c.Method, result.Body)
		}
		if why == "" {
			return c.encode(result), nil, nil
		}
		g.log.Warn("a result is invalid", "method", c.Method, "name", visible.Name(c.Name), "reason", why)
		failure = c.failure(queued, FailureInvalidResult, "the result of "+what(&c.Request)+" is invalid: "+why)
	case ctx.Err() != nil:
		return nil, nil, shuttingDown() // not sent if the client cancelled the call
	case errors.As(err, &ask) && ask != nil && interaction.Supports(c.Method):
		if ask.Approval == nil { // the module ran, so the approval that the request brought has counted
			c.Interaction.Approval = c.Interaction.Approval.Spent()
		}
		return nil, ask, nil
	case errors.As(err, &failure) && failure != nil:
	case errors.As(err, &own) && own != nil:
		return nil, nil, own
	default:
		g.log.Error("a call failed", "method", c.Method, "name", visible.Name(c.Name), "error", err)
		failure = c.failure(queued, FailureInternal, "the call of "+what(&c.Request)+" failed: "+err.Error())
	}
	encoded, own := c.report(failure)
	return encoded, nil, own
}

// report returns the encoded result, or the error, that reports a failure to the client.
func (c *clientRequest) report(f *Failure) ([]byte, *abi.Error) {
	if err := f.rpc(&c.Request); err != nil {
		return nil, err
	}
	return c.encode(call.Result{Body: f.result()}), nil
}

// what names a request in messages.
func what(r *call.Request) string {
	if r.Name == "" {
		return r.Method
	}
	return visible.Name(r.Name)
}

// invoke calls Execute and turns a panic into an error.
func (c *clientRequest) invoke(ctx context.Context, queued Queued) (result call.Result, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			result, err = call.Result{}, guard.Recovered(c.session.g.log, "in a call", fault, "method", c.Method, "name", visible.Name(c.Name))
		}
	}()
	return queued.Execute(ctx, c.notifier)
}

// failure calls the Failure of queued. If that panics or returns nil, it makes a plain one.
func (c *clientRequest) failure(queued Queued, code, message string) (f *Failure) {
	defer func() {
		if fault := recover(); fault != nil || f == nil {
			c.session.g.log.Error("a call could not format its failure", "method", c.Method, "name", visible.Name(c.Name), "panic", fmt.Sprint(fault))
			f = &Failure{Code: code, Tool: c.Name, Message: message}
		}
	}()
	return queued.Failure(code, message)
}
