package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// failureSandbox is the code of a request that failed because the plugin's grant could not be set up.
const failureSandbox = "sandbox"

// request is one request to one plugin. It waits in the plugin's queue, the plugin's module answers it, and the audit log records it.
type request struct {
	gateway.Request
	plugin *plugin
	tool   *catalog.Tool // the called tool; nil if the request is not a tool call
	ticket ticket
	held   bool // whether the request occupies one of the slots of the plugin
}

var _ gateway.Answered = (*request)(nil)

// hold acquires one of the slots of the plugin for the request.
func (r *request) hold(ctx context.Context) error {
	patience := r.plugin.Grant.Limits.Queue
	err := r.plugin.slots.acquire(ctx, r.ticket.number, patience)
	if errors.Is(err, errNoSlot) {
		return r.failed(&engine.Error{Code: engine.CodeQueue,
			Message: fmt.Sprintf("waited for %s, but none of its %d slots became free: raise limits.concurrency, or send fewer calls at a time", patience, r.plugin.Grant.Limits.Concurrency)})
	}
	r.held = err == nil
	return err
}

// Answered implements gateway.Answered.
func (r *request) Answered() {
	if r.held {
		r.held = false
		r.plugin.slots.release()
	}
}

// enqueue queues a request to a plugin. The caller must call Run of the result.
func (p *plugin) enqueue(r gateway.Request, write bool) *request {
	return &request{Request: r, plugin: p, ticket: p.queue.enter(write)}
}

// Run implements gateway.Call.
func (r *request) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	defer r.ticket.leave()
	return r.recorded(ctx, func(ctx context.Context, record func(wire.Record)) (worker.Response, error) {
		return r.run(ctx, r.Params, n, record)
	})
}

// run sends params to the module. It calls record, which may be nil, for each operation of the module.
func (r *request) run(ctx context.Context, params json.RawMessage, n gateway.Notifier, record func(wire.Record)) (worker.Response, error) {
	if err := r.plugin.checkAsker(r.Request); err != nil {
		return worker.Response{}, err
	}
	if err := r.ticket.wait(ctx); err != nil {
		return worker.Response{}, err
	}
	if err := r.hold(ctx); err != nil {
		return worker.Response{}, err
	}
	tool := ""
	if r.tool != nil {
		tool = r.tool.Name
	}
	if err := r.plugin.checkGrant(tool); err != nil {
		return worker.Response{}, r.failed(err)
	}
	network, err := r.plugin.network()
	if err != nil {
		return worker.Response{}, r.failed(r.plugin.sandboxError(err))
	}
	session := network.Begin(ctx)
	defer session.End()
	members, err := r.encodeInteraction()
	if err != nil {
		return worker.Response{}, err
	}
	call := wire.Call{Method: r.Method, Recorded: record != nil, Params: params, Interaction: members}
	if r.tool != nil {
		call.Schema = r.tool.OutputNumber
	}
	notify := &pluginNotifier{Notifier: n, plugin: r.plugin}
	response, err := r.plugin.worker().Call(ctx, worker.Request{
		Call: call, Ask: r.plugin.asker(notify, session), Record: record, Waiting: func() { notify.reportStart(ctx) },
	})
	switch {
	case err != nil:
		return response, r.failed(err)
	case response.Asks:
		return response, r.asks(response, record)
	}
	return response, nil
}

// failed converts an error of the engine to the error that the client gets.
func (r *request) failed(err error) error {
	failure := (*engine.Error)(nil)
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Code != engine.CodeCanceled {
		r.plugin.Log.Error("a call failed", "method", r.Method, "name", r.Name, "code", failure.Code, "reason", failure.Message)
		r.plugin.Log.Debug("a call failed", "method", r.Method, "name", r.Name, "detail", failure.Detail)
	}
	return r.Failure(string(failure.Code), failure.Message)
}

// Failure implements gateway.Call. message continues a sentence that begins with the name of what was requested.
func (r *request) Failure(code, message string) *gateway.Failure {
	subject := r.Name
	if subject == "" {
		subject = r.plugin.Name + "'s " + r.Method
	}
	text := fill(r.template(), map[string]string{"{code}": code, "{plugin}": r.plugin.Name, "{tool}": subject, "{message}": message})
	return &gateway.Failure{Code: code, Plugin: r.plugin.Name, Tool: r.Name, Message: message, Text: text}
}

// defaultTemplate formats failures for which the manifest has no template.
const defaultTemplate = "bulkhead: {tool} {message}"

// template returns the template for the failures of r. A manifest may define a template for the calls of one tool, or for those of all
// tools.
func (r *request) template() string {
	if r.tool == nil {
		return defaultTemplate
	}
	return cmp.Or(r.tool.Failure, r.plugin.Manifest.Server.Failure, defaultTemplate)
}

// fill replaces the placeholders of a template with their values. If the template is a JSON object, its placeholders are inside
// strings, so the values are escaped.
func fill(template string, values map[string]string) string {
	var pairs []string
	for placeholder, value := range values {
		if strings.HasPrefix(template, "{") && json.Valid([]byte(template)) {
			quoted := rawjson.Quote(value)
			value = string(quoted[1 : len(quoted)-1])
		}
		pairs = append(pairs, placeholder, value)
	}
	return strings.NewReplacer(pairs...).Replace(template)
}
