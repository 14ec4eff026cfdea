package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// call starts a request that the backend executes. Whatever the gateway can refuse, it refuses before it calls
// the backend.
func (s *session) call(ctx context.Context, m *message, meta requestMeta, how method, to Peer) {
	request, err := s.backendRequest(m, meta, how)
	if err == nil && interaction.Supports(m.method) {
		err = s.interact(&request, m, meta)
	}
	if err != nil {
		putError(to, m.id, err)
		return
	}
	if s.subscriptions.isOpen(m.id) {
		putError(to, m.id, streamIDInUse())
		return
	}
	ctx, stop := context.WithCancel(ctx)
	n := newNotifier(s, meta, to)
	e, err := s.calls.add(m, to, func() { n.stop(); stop() })
	if err != nil {
		stop()
		putError(to, m.id, err)
		return
	}
	c := &clientCall{session: s, entry: e, request: request, how: how, meta: meta, notifier: n}
	if !how.list {
		c.start(ctx, s.run, func() {})
		return
	}
	release := func() { <-s.lists }
	select {
	case s.lists <- struct{}{}:
		c.start(ctx, s.run, release)
	default:
		go func() { // the reader must not block: the next message may cancel a running list
			select {
			case s.lists <- struct{}{}:
				c.start(ctx, s.runners.run, release)
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

// clientCall is a call in flight.
type clientCall struct {
	session  *session
	entry    *entry
	request  Request
	how      method
	meta     requestMeta
	notifier *notifier
}

// start looks the call up and has it run by the function run. release is called when its response is written.
func (c *clientCall) start(ctx context.Context, run func(func()), release func()) {
	g := c.session.g
	call, err := g.find(c.request)
	if err != nil {
		c.end(nil, err, release)
		return
	}
	run(func() { c.execute(ctx, call, release) })
}

// execute runs the call and sends its response. If the call asks its client, a client of the modern era gets the ask as the
// response; another one is asked, and the request is executed again with its answers.
func (c *clientCall) execute(ctx context.Context, call Call, release func()) {
	g := c.session.g
	for {
		result, ask, err := g.run(ctx, call, c)
		if ask == nil {
			c.end(c.encode(result), err, release)
			answered(call)
			return
		}
		answered(call) // nothing of the backend is held while the client is asked
		result, again, err := c.ask(ctx, call, ask)
		if again {
			call, err = g.find(c.request)
		}
		if !again || err != nil {
			c.end(result, err, release)
			return
		}
	}
}

func answered(call Call) {
	if held, ok := call.(Answered); ok {
		held.Answered()
	}
}

// run runs a call in a goroutine, or has Handle return it. It may be called only while a message is handled.
func (s *session) run(call func()) {
	if s.single {
		s.taken = call
		return
	}
	s.runners.run(call)
}

// runners are goroutines that run calls. A few of them wait for further calls, because the stack of a new goroutine has to
// grow several times.
type runners struct {
	calls chan func() // unbuffered: a send succeeds if a runner waits
	idle  atomic.Int32
	end   <-chan struct{} // closed when idle runners have to end
}

const maxIdleRunners = 8

// run runs a call in a goroutine.
func (r *runners) run(call func()) {
	select {
	case r.calls <- call:
	default:
		go r.loop(call)
	}
}

func (r *runners) loop(call func()) {
	for {
		call()
		if r.idle.Add(1) > maxIdleRunners {
			r.idle.Add(-1)
			return
		}
		select {
		case call = <-r.calls:
			r.idle.Add(-1)
		case <-r.end:
			return
		}
	}
}

// encode encodes a result for the era of the request; nil if result is nil.
func (c *clientCall) encode(result []byte) []byte {
	if c.meta.modern && result != nil {
		result = modern(result, c.meta.served.info, c.how.cached)
	}
	return oneLine(result)
}

// end sends the response, whose result is encoded, unless the call was cancelled or failPending has sent one.
func (c *clientCall) end(result []byte, err *abi.Error, release func()) {
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
func (g *Gateway) find(r Request) (call Call, err *abi.Error) {
	defer func() {
		if fault := recover(); fault != nil {
			g.log.Error("panic in the look-up of a request", "method", r.Method, "name", bounded(r.Name), "panic", fault, "stack", string(debug.Stack()))
			err = &abi.Error{Code: abi.CodeInternal, Message: "internal error"}
		}
	}()
	return g.backend.Find(r)
}

// run executes a request and returns a valid result, an ask or an error.
func (g *Gateway) run(ctx context.Context, call Call, c *clientCall) ([]byte, *Ask, *abi.Error) {
	r, how := c.request, c.how
	result, err := g.invoke(ctx, call, r, c.notifier)
	name := r.what()
	var failure *Failure
	var own *abi.Error
	var ask *Ask
	switch {
	case err == nil:
		why := ""
		switch {
		case how.check == nil || c.meta.served.config.Checked:
		case !rawjson.Valid(result):
			why = "it is not JSON"
		default:
			why = how.check(result)
		}
		if why == "" {
			return result, nil, nil
		}
		g.log.Warn("a result is invalid", "method", r.Method, "name", bounded(r.Name), "reason", why)
		failure = g.failure(call, r, FailureInvalidResult, "the result of "+name+" is invalid: "+why)
	case ctx.Err() != nil:
		return nil, nil, shuttingDown() // not sent if the client cancelled the call
	case errors.As(err, &ask) && ask != nil && interaction.Supports(r.Method):
		return nil, ask, nil
	case errors.As(err, &failure) && failure != nil:
	case errors.As(err, &own) && own != nil:
		return nil, nil, own
	default:
		g.log.Error("a call failed", "method", r.Method, "name", bounded(r.Name), "error", err)
		failure = g.failure(call, r, FailureInternal, "the call of "+name+" failed: "+err.Error())
	}
	result, own = g.report(r, failure)
	return result, nil, own
}

// report returns the result, or the error, that reports a failure to the client.
func (g *Gateway) report(r Request, f *Failure) ([]byte, *abi.Error) {
	if r.Method != string(mcp.MethodToolsCall) {
		return nil, f.rpc()
	}
	return f.result(), nil
}

// what names a request in messages.
func (r Request) what() string {
	if r.Name == "" {
		return r.Method
	}
	return bounded(r.Name)
}

// invoke calls Run and turns a panic into an error.
func (g *Gateway) invoke(ctx context.Context, call Call, r Request, n Notifier) (result []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			g.log.Error("panic in a call", "method", r.Method, "name", bounded(r.Name), "panic", fault, "stack", string(debug.Stack()))
			result, err = nil, errors.New("internal error in the host; see its log")
		}
	}()
	return call.Run(ctx, n)
}

// failure calls the Call's Failure. If that panics or returns nil, it makes a plain one.
func (g *Gateway) failure(call Call, r Request, code, message string) (f *Failure) {
	defer func() {
		if fault := recover(); fault != nil || f == nil {
			g.log.Error("a call could not format its failure", "method", r.Method, "name", bounded(r.Name), "panic", fmt.Sprint(fault))
			f = &Failure{Code: code, Tool: r.Name, Message: message}
		}
	}()
	return call.Failure(code, message)
}
