package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/rawjson"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/wire"
)

// failureSandbox is the code of a request for which what the plugin is granted could not be set up.
const failureSandbox = "sandbox"

// request is one request to one plugin: it has a place in the plugin's queue, is answered by the plugin's
// module, and is recorded.
type request struct {
	gateway.Request
	plugin *plugin
	tool   *tool // nil: it is no call of a tool
	ticket ticket
	held   bool // one of the plugin's slots
}

var _ gateway.Answered = (*request)(nil)

// hold takes one of the plugin's slots.
func (r *request) hold(ctx context.Context) error {
	patience := r.plugin.grant.Limits.Queue
	err := r.plugin.slots.acquire(ctx, r.ticket.number, patience)
	if errors.Is(err, errNoSlot) {
		return r.failed(&engine.Error{Code: engine.CodeQueue,
			Message: fmt.Sprintf("waited for %s, and all of its %d places were taken", patience, r.plugin.grant.Limits.Concurrency)})
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

// ask queues a request to a plugin; its run follows.
func (p *plugin) ask(r gateway.Request, write bool) *request {
	return &request{Request: r, plugin: p, ticket: p.queue.enter(write)}
}

// Run implements gateway.Call.
func (r *request) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	defer r.ticket.leave()
	return r.recorded(ctx, func(ctx context.Context, record func(wire.Record)) (worker.Response, error) {
		return r.run(ctx, r.Params, n, record)
	})
}

// run has the module answer with params. record is told of its operations; it may be nil.
func (r *request) run(ctx context.Context, params json.RawMessage, n gateway.Notifier, record func(wire.Record)) (worker.Response, error) {
	if err := r.ticket.wait(ctx); err != nil {
		return worker.Response{}, err
	}
	if err := r.hold(ctx); err != nil {
		return worker.Response{}, err
	}
	network, err := r.plugin.network()
	if err != nil {
		return worker.Response{}, r.failed(r.plugin.sandboxError(err))
	}
	session := network.Begin(ctx)
	defer session.End()
	call := wire.Call{Method: r.Method, Recorded: record != nil, Params: params}
	if r.tool != nil {
		call.Schema = r.tool.number
	}
	response, err := r.plugin.worker().Call(ctx, worker.Request{Call: call, Ask: r.plugin.asker(pluginNotifier{n, r.plugin}, session), Record: record})
	if err != nil {
		return response, r.failed(err)
	}
	return response, nil
}

// failed words a failure of the engine's.
func (r *request) failed(err error) error {
	failure := (*engine.Error)(nil)
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Code != engine.CodeCanceled {
		r.plugin.log.Error("a call failed", "method", r.Method, "name", r.Name, "code", failure.Code, "reason", failure.Message)
		r.plugin.log.Debug("a call failed", "method", r.Method, "name", r.Name, "detail", failure.Detail)
	}
	return r.Failure(string(failure.Code), failure.Message)
}

// Failure implements gateway.Call. The message is a predicate, whose subject is what was asked for.
func (r *request) Failure(code, message string) *gateway.Failure {
	subject := r.Name
	if subject == "" {
		subject = r.plugin.name + "'s " + r.Method
	}
	text := fill(r.template(), map[string]string{"{code}": code, "{plugin}": r.plugin.name, "{tool}": subject, "{message}": message})
	return &gateway.Failure{Code: code, Plugin: r.plugin.name, Tool: r.Name, Message: message, Text: text}
}

// ownTemplate is how a failure reads that no manifest words.
const ownTemplate = "bulkhead: {tool} {message}"

// template is how a failure of r reads: a manifest words those of tools, of one before those of all.
func (r *request) template() string {
	if r.tool == nil {
		return ownTemplate
	}
	return cmp.Or(r.tool.Failure, r.plugin.manifest.Server.Failure, ownTemplate)
}

// fill puts values in for the placeholders of a template. In one that is a JSON object they are parts of its
// strings, and escaped so that it stays one.
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

// pluginNotifier sends the notifications of a plugin's call: that something changed only where the manifest offers
// that, and only of the plugin's own resources.
type pluginNotifier struct {
	gateway.Notifier
	plugin *plugin
}

// Notify implements gateway.Notifier.
func (v pluginNotifier) Notify(ctx context.Context, method string, params json.RawMessage) error {
	switch offers := v.plugin.manifest.Offers; method {
	case methodPromptsChanged, methodResourcesChanged:
		if !offers.ListChanged {
			return fmt.Errorf("%s: the manifest does not offer it: set list_changed = true in [offers]", method)
		}
	case methodResourceUpdated:
		uri, _ := rawjson.Unquote(rawjson.Member(params, "uri"))
		switch {
		case !json.Valid(params):
		case !offers.Subscribe:
			return fmt.Errorf("%s: the manifest does not offer it: set subscribe = true in [offers]", method)
		case uri != "" && !v.plugin.host.offered.serves(v.plugin, uri):
			return fmt.Errorf("%s: %q is no resource of this plugin's", method, uri)
		}
	}
	return v.Notifier.Notify(ctx, method, params)
}

// The notifications by which a call says what it changed.
const (
	methodPromptsChanged   = "notifications/prompts/list_changed"
	methodResourcesChanged = "notifications/resources/list_changed"
	methodResourceUpdated  = "notifications/resources/updated"
)
