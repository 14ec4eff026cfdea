package dispatch

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// enqueueHostTool queues a call of one of the host's own tools.
func (v *view) enqueueHostTool(r call.Request) (gateway.Queued, *abi.Error) {
	switch {
	case r.Name == hosttool.Result:
		return &resultCall{Request: r, view: v}, nil
	case !hosttool.IsCaller(r.Name):
		return &hostCall{Request: r, view: v}, nil
	}
	name, arguments, err := hosttool.Inner(r.Arguments)
	if err != nil {
		return &hostCall{Request: r, view: v, invalid: err}, nil
	}
	return v.enqueueInner(through(r, name, arguments))
}

// through returns the request by which a client would have called the tool directly that r calls through a tool of the host.
func through(r call.Request, name string, arguments []byte) call.Request {
	r.Via, r.Name, r.Arguments = r.Name, name, arguments
	r.Params = rawjson.Replace(rawjson.Replace(r.Params, "arguments", arguments), "name", rawjson.Quote(name))
	return r
}

// enqueueInner queues a call that came through a tool of the host, which may be a script. It is executed like a direct one. That a tool writes is decided as for
// read_only.
func (v *view) enqueueInner(r call.Request) (gateway.Queued, *abi.Error) {
	tool := v.catalog.Tool(r.Name)
	switch {
	case tool == nil:
		return nil, v.unknown(r)
	case tool.Plugin.IsHost(): // only its clients run scripts
		return v.refuse(r, tool, catalog.Indirect, "cannot be called by "+r.Via), nil
	case tool.Task == manifest.TaskRequired: // and no client learns of a task here
		return v.refuse(r, tool, catalog.Indirect, "runs only as a task, which "+r.Via+" cannot begin: it has to be called directly, which needs tools = \"listed\" for its plugin"), nil
	case tool.Write && r.Via != hosttool.Write:
		return v.refuse(r, tool, catalog.Writes, "writes: call it by "+hosttool.Write), nil
	case !tool.Write && r.Via == hosttool.Write:
		return v.refuse(r, tool, catalog.Reads, "only reads: call it by "+v.catalog.HostTools().Reader()), nil
	}
	r.ReadsOnly = !tool.Write
	return v.enqueueToolCall(r), nil
}

// refuse records that a tool was called through the wrong tool of the host, and returns the request that says so.
func (v *view) refuse(r call.Request, tool *catalog.Tool, code, message string) gateway.Queued {
	failure := hostFailure(r.Name, code, message)
	v.recordRefused(r, tool.Plugin, code, failure)
	return refused{failure}
}

// refused is a request that has failed when it was found, and was recorded.
type refused struct{ failure *gateway.Failure }

// Execute implements gateway.Queued.
func (r refused) Execute(context.Context, gateway.Notifier) (call.Result, error) {
	return call.Result{}, r.failure
}

// Failure implements gateway.Queued.
func (r refused) Failure(code, message string) *gateway.Failure {
	return hostFailure(r.failure.Tool, code, message)
}

// hostCall is a call of one of the host's own tools, which the host answers itself.
type hostCall struct {
	call.Request
	view    *view
	invalid error // what is wrong with the arguments, if that is known
}

// Execute implements gateway.Queued.
func (h *hostCall) Execute(context.Context, gateway.Notifier) (call.Result, error) {
	return recordable{h, &h.Request, h.view, nil}.recorded(func(func(audit.Operation)) (call.Result, error) {
		body, err := []byte(nil), h.invalid
		if err == nil {
			body, err = h.view.catalog.HostTools().Answer(h.Name, h.Arguments)
		}
		if err != nil {
			return call.Result{}, h.Failure(failureArguments, err.Error())
		}
		return call.Result{Body: body}, nil
	})
}

// Failure implements gateway.Queued.
func (h *hostCall) Failure(code, message string) *gateway.Failure {
	return hostFailure(h.Name, code, message)
}

// hostFailure returns the failure of a call that reached no plugin.
func hostFailure(tool, code, message string) *gateway.Failure {
	text := fill(defaultTemplate, map[string]string{"{tool}": tool, "{message}": message})
	return &gateway.Failure{Code: code, Tool: tool, Message: message, Text: text}
}
