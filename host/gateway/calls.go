package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// call starts a request that the backend executes. Whatever the gateway can refuse, it refuses before it calls
// the backend.
func (s *session) call(ctx context.Context, m *message, meta requestMeta, how method, to responder) {
	request, err := s.backendRequest(m, meta, how)
	if err != nil {
		putError(to, m.id, err)
		return
	}
	if s.subscriptions.isOpen(m.id) {
		putError(to, m.id, streamIDInUse())
		return
	}
	ctx, stop := context.WithCancel(ctx)
	n := newNotifier(s, meta)
	e, err := s.calls.add(m, how.list, to, func() { n.stop(); stop() })
	if err != nil {
		stop()
		putError(to, m.id, err)
		return
	}
	call, err := s.g.find(request)
	if err != nil {
		s.calls.claim(e)
		s.calls.done(e)
		putError(to, m.id, meta.translated(err))
		return
	}
	go func() {
		defer s.calls.done(e)
		if held, ok := call.(Answered); ok {
			defer held.Answered()
		}
		result, err := s.g.run(ctx, call, request, how, n)
		n.close()
		switch {
		case !s.calls.claim(e):
			to.skip()
		case err != nil:
			putError(to, m.id, meta.translated(err))
		case meta.modern:
			putResult(to, m.id, oneLine(modern(result, s.g.info, how.cached)))
		default:
			putResult(to, m.id, oneLine(result))
		}
	}()
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

// run executes a request and returns a valid result or an error.
func (g *Gateway) run(ctx context.Context, call Call, r Request, how method, n Notifier) ([]byte, *abi.Error) {
	result, err := g.invoke(ctx, call, r, n)
	name := r.what()
	var failure *Failure
	var own *abi.Error
	switch {
	case err == nil:
		why := ""
		switch {
		case how.check == nil || g.config.Checked:
		case !rawjson.Valid(result):
			why = "it is not JSON"
		default:
			why = how.check(result)
		}
		if why == "" {
			return result, nil
		}
		g.log.Warn("a result is invalid", "method", r.Method, "name", bounded(r.Name), "reason", why)
		failure = g.failure(call, r, FailureInvalidResult, "the result of "+name+" is invalid: "+why)
	case ctx.Err() != nil:
		return nil, shuttingDown() // dropped if the client cancelled the call
	case errors.As(err, &failure) && failure != nil:
	case errors.As(err, &own) && own != nil:
		return nil, own
	default:
		g.log.Error("a call failed", "method", r.Method, "name", bounded(r.Name), "error", err)
		failure = g.failure(call, r, FailureInternal, "the call of "+name+" failed: "+err.Error())
	}
	if r.Method != string(mcp.MethodToolsCall) {
		return nil, failure.rpc()
	}
	return failure.result(), nil
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
