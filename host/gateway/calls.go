package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// call starts a call of a tool. What can be refused is refused before the backend hears of it.
func (s *session) call(ctx context.Context, m message, meta requestMeta, to answers) {
	name, ok := rawjson.Unquote(rawjson.Member(m.params, "name"))
	if !ok {
		putError(to, m.id, &abi.Error{Code: abi.CodeInvalidParams, Message: "Missing tool name"})
		return
	}
	ctx, stop := context.WithCancel(ctx)
	n := newNotifier(s, meta)
	e, err := s.calls.add(m.id, func() { n.stop(); stop() })
	if e == nil {
		stop()
		if err != nil {
			putError(to, m.id, err)
		}
		return
	}
	tool, err := s.g.find(name)
	if err != nil {
		s.calls.take(e)
		s.calls.done(e)
		putError(to, m.id, err)
		return
	}
	go func() {
		defer s.calls.done(e)
		result, err := s.g.run(ctx, tool, name, m.params, n)
		n.close()
		switch {
		case !s.calls.take(e) || ctx.Err() != nil:
			to.none()
		case err != nil:
			putError(to, m.id, err)
		case meta.modern:
			putResult(to, m.id, oneLine(modern(result, s.g.info)))
		default:
			putResult(to, m.id, oneLine(result))
		}
	}()
}

// find asks the backend for a tool. A tool that is not granted is unknown, with a word on why where
// the backend has one.
func (g *Gateway) find(name string) (call Call, err *abi.Error) {
	defer func() {
		if fault := recover(); fault != nil {
			g.log.Error("looking up a tool panicked", "tool", bounded(name), "panic", fault, "stack", string(debug.Stack()))
			err = &abi.Error{Code: abi.CodeInternal, Message: "internal error"}
		}
	}()
	if call, ok := g.backend.Tool(name); ok {
		return call, nil
	}
	unknown := "Unknown tool: " + bounded(name)
	if why := g.backend.Refusal(name); why != "" {
		unknown += ": " + why
	}
	return nil, &abi.Error{Code: abi.CodeInvalidParams, Message: unknown}
}

// run makes one call and turns whatever comes of it into a result that a client can read, or into the
// error that the tool answered with.
func (g *Gateway) run(ctx context.Context, call Call, name string, params []byte, n Notifier) ([]byte, *abi.Error) {
	result, err := g.invoke(ctx, call, name, params, n)
	var failure *Failure
	var own *abi.Error
	switch {
	case err == nil:
		why := checkResult(result)
		if why == "" {
			return result, nil
		}
		g.log.Warn("a tool's result cannot be read", "tool", name, "reason", why)
		failure = g.failure(call, name, FailureInvalidResult, "the result of "+name+" cannot be read: "+why)
	case errors.As(err, &failure) && failure != nil:
	case errors.As(err, &own) && own != nil:
		return nil, own
	case ctx.Err() != nil:
		return nil, nil // no one waits for the answer
	default:
		g.log.Error("a call failed", "tool", name, "error", err)
		failure = g.failure(call, name, FailureInternal, "the call of "+name+" failed: "+err.Error())
	}
	return failure.result(), nil
}

// invoke runs a call; a panic becomes an error.
func (g *Gateway) invoke(ctx context.Context, call Call, name string, params []byte, n Notifier) (result []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			g.log.Error("a call panicked", "tool", name, "panic", fault, "stack", string(debug.Stack()))
			result, err = nil, errors.New("a fault in the host; its log says more")
		}
	}()
	return call.Run(ctx, params, n)
}

// failure has the call word a failure, and does so itself where the call cannot.
func (g *Gateway) failure(call Call, name, code, message string) (f *Failure) {
	defer func() {
		if fault := recover(); fault != nil || f == nil {
			g.log.Error("a call could not word its failure", "tool", name, "panic", fmt.Sprint(fault))
			f = &Failure{Code: code, Tool: name, Message: message}
		}
	}()
	return call.Failure(code, message)
}
