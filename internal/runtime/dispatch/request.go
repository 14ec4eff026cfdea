package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// failureSandbox is the code of a request that failed because the plugin's grant could not be set up.
const failureSandbox = "sandbox"

// failureArguments is the code of a call whose arguments do not match the tool's schema.
const failureArguments = "invalid_arguments"

// queued is a request in the queue of one plugin, whose module answers it and whose audit record it gets.
type queued struct {
	call.Request
	plugin *plugin
	tool   *catalog.Tool // the called tool; nil if the request is not a tool call
	place  place
	held   bool // whether the request occupies one of the slots of the plugin
}

var _ gateway.ResponseWritten = (*queued)(nil)

// enqueue queues a request to a plugin. The caller must call Execute of the result.
func (p *plugin) enqueue(r call.Request, write bool) *queued {
	q := &queued{Request: r, plugin: p}
	principal := ""
	if r.Principal != nil {
		principal = r.Principal.ID
	}
	p.lane.queue.enter(&q.place, principal, write)
	q.place.task = r.Task != ""
	return q
}

// enqueueToolCall queues a call of the tool that r names. It returns nil if that tool is not offered.
func (v *view) enqueueToolCall(r call.Request) gateway.Queued {
	tool := v.catalog.Tool(r.Name)
	switch {
	case tool == nil && v.catalog.IsSetup(r.Name):
		return setup{v.catalog}
	case tool == nil:
		return nil
	}
	q := v.plugins[tool.Plugin.Index].enqueue(r, tool.Write)
	q.tool = tool
	return q
}

// start waits until the request may run and has one of the slots of the plugin.
func (q *queued) start(ctx context.Context) error {
	patience := q.plugin.Grant.Limits.Queue
	if q.Times != nil {
		q.Times.Queued = time.Now()
		q.Times.Reach(call.PhaseQueued)
	}
	err := q.place.start(ctx, patience)
	if q.Times != nil && err == nil {
		q.Times.Started = time.Now()
		q.Times.Reach(call.PhaseStarted)
	}
	if errors.Is(err, errNoSlot) {
		slots, reserved := q.plugin.Grant.Limits.Concurrency, ""
		if q.place.task && slots > 1 {
			reserved = ", of which one is kept for calls that are no tasks,"
		}
		return q.failed(&engine.Error{Code: engine.CodeQueue,
			Message: fmt.Sprintf("waited for %s, but none of its %d slots%s became free: raise limits.concurrency, or send fewer calls at a time", patience, slots, reserved)})
	}
	q.held = err == nil
	return err
}

// ResponseWritten implements gateway.ResponseWritten.
func (q *queued) ResponseWritten() {
	if q.held {
		q.held = false
		q.place.release()
	}
}

// Execute implements gateway.Queued.
func (q *queued) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	defer q.place.leave()
	return recordable{q, &q.Request, q.plugin.view, q.plugin.Plugin}.recorded(func(record func(audit.Operation)) (call.Result, error) {
		if q.tool == nil {
			return q.send(ctx, n, record)
		}
		undeclared, err := q.tool.CheckArguments(q.Arguments, q.plugin.Grant.Limits)
		if err != nil {
			return call.Result{}, q.Failure(failureArguments, err.Error())
		}
		q.Params, q.Output = q.tool.PluginParams(q.Params), q.tool.OutputNumber
		result, err := q.send(ctx, n, record)
		if len(undeclared) > 0 && !errors.As(err, new(*gateway.Ask)) { // a call that asks comes again
			q.logUndeclared(undeclared)
			if err == nil {
				result, err = withUndeclared(result, undeclared)
			}
		}
		if err != nil {
			return result, shortenError(err, q.errorLimit())
		}
		return q.shorten(result, q.resultLimit()), nil
	})
}

// send sends the request to the plugin's worker when it is its turn. It calls record, which may be nil, for each operation of the module.
func (q *queued) send(ctx context.Context, n gateway.Notifier, record func(audit.Operation)) (call.Result, error) {
	if err := q.plugin.checkPluginVersion(&q.Request); err != nil {
		return call.Result{}, err
	}
	if err := q.approve(record); err != nil {
		return call.Result{}, err
	}
	if q.place.write {
		n.Announce(ctx) // not while it runs, since the client may be slow
	}
	if err := q.start(ctx); err != nil {
		return call.Result{}, err
	}
	tool := ""
	if q.tool != nil {
		tool = q.tool.Name
	}
	if err := q.plugin.checkGrant(tool); err != nil {
		return call.Result{}, q.failed(err)
	}
	network, err := q.plugin.runner.network()
	if err != nil {
		return call.Result{}, q.failed(q.plugin.sandboxError(err))
	}
	session := network.begin(ctx)
	defer session.end()
	if q.Members, err = q.encodeInteraction(); err != nil {
		return call.Result{}, err
	}
	if q.Task != "" {
		q.Params = withProgress(q.Params)
	}
	q.Recorded = record != nil
	notify := &pluginNotifier{Notifier: n, plugin: q.plugin}
	operate := q.plugin.operator(notify, session)
	if q.plugin.IsHost() {
		operate = q.operateScript(n)
	} else if q.Trace != nil && q.Trace.Sampled {
		operate = timed(operate, q.Times)
	}
	worked, done := q.plugin.runner.workerOf(&q.Request)
	defer done()
	result, err := worked.Call(ctx, worker.Hooked{
		Request: &q.Request, Operate: operate, Record: record, Waiting: func() { notify.reportStart(ctx) },
	})
	if q.plugin.IsHost() {
		result, err = withScriptError(result, err)
	}
	switch {
	case err != nil:
		return result, q.failed(err)
	case result.Kind == call.Asks:
		return result, q.asks(result, record)
	case q.plugin.IsHost():
		defer q.ResponseWritten() // the result is small, and a client that does not read it must not keep others from running scripts
		return scriptResult(result)
	}
	return result, nil
}

// withProgress has the module of a call that runs as a task report its progress, for the state of the task, whatever the client wants.
func withProgress(params json.RawMessage) json.RawMessage {
	meta := rawjson.Member(params, "_meta")
	if rawjson.Kind(meta) != '{' || rawjson.Member(meta, "progressToken") != nil {
		return params
	}
	return rawjson.Replace(params, "_meta", rawjson.Replace(meta, "progressToken", []byte(`"task"`)))
}

// failed converts an error of the engine to the error that the client gets.
func (q *queued) failed(err error) error {
	failure := (*engine.Error)(nil)
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Code != engine.CodeCanceled {
		args := []any{"method", q.Method, "name", q.Name, "code", failure.Code, "reason", failure.Message}
		if failure.Panic != "" {
			args = append(args, "panic", failure.Panic)
		}
		q.plugin.Log.Error("a call failed", args...)
		q.plugin.Log.Debug("a call failed", "method", q.Method, "name", q.Name, "detail", failure.Detail)
	}
	if failure.Panic == "" {
		return q.printed(q.Failure(string(failure.Code), reasonFor(&q.Request, failure)), failure)
	}
	return q.printed(q.panicked(failure), failure)
}

// panicked returns the failure of a call that ended in a panic. Output of a module may quote what the module has read, so only its author
// gets the text of the panic: see discovery.Options.
func (q *queued) panicked(failure *engine.Error) *gateway.Failure {
	o, message := q.plugin.view.catalog.Options, failure.Message
	if o.Development != nil {
		message += ": " + failure.Panic
	}
	f := q.Failure(string(failure.Code), message)
	if o.Panics || o.Development != nil {
		f.Panic = failure.Panic
	}
	return f
}

// Failure implements gateway.Queued. message continues a sentence that begins with the name of what was requested.
func (q *queued) Failure(code, message string) *gateway.Failure {
	subject := q.Name
	if subject == "" {
		subject = q.plugin.Name + "'s " + q.Method
	}
	text := fill(q.template(), map[string]string{"{code}": code, "{plugin}": q.plugin.Name, "{tool}": subject, "{message}": message})
	return &gateway.Failure{Code: code, Plugin: q.plugin.Name, Tool: q.Name, Message: message, Text: text}
}

// defaultTemplate formats failures for which the manifest has no template.
const defaultTemplate = "bulkhead: {tool} {message}"

// template returns the template for the failures of q. A manifest may define a template for the calls of one tool, or for those of all
// tools.
func (q *queued) template() string {
	if q.tool == nil {
		return defaultTemplate
	}
	return cmp.Or(q.tool.Failure, q.plugin.Manifest.Server.Failure, defaultTemplate)
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
