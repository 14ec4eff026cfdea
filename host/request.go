package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/gateway"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// failureResponse is the code of an answer of the module's that is none of ABI 1.
const failureResponse = "invalid_response"

// failureSandbox is the code of a request for which what the plugin is granted could not be set up.
const failureSandbox = "sandbox"

// request is one request to one plugin: it has a place in the plugin's queue, is answered by the plugin's
// module, and is recorded.
type request struct {
	gateway.Request
	plugin *plugin
	tool   *tool // nil: it is no call of a tool
	ticket ticket
	held   bool // one of the plugin's places
}

var _ gateway.Answered = (*request)(nil)

// hold waits for one of the plugin's places, which bound the answers that are in memory at a time.
func (r *request) hold(ctx context.Context) error {
	places, limits := r.plugin.places, r.plugin.grant.Limits
	select {
	case places <- struct{}{}:
		r.held = true
		return nil
	default:
	}
	patience := time.NewTimer(limits.Queue)
	defer patience.Stop()
	select {
	case places <- struct{}{}:
		r.held = true
		return nil
	case <-patience.C:
		return r.failed(&engine.Error{Code: engine.CodeQueue,
			Message: fmt.Sprintf("waited for %s, and all of its %d places were taken", limits.Queue, cap(places))})
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Answered implements gateway.Answered.
func (r *request) Answered() {
	if r.held {
		r.held = false
		<-r.plugin.places
	}
}

// ask queues a request to a plugin; its run follows.
func (p *plugin) ask(r gateway.Request, write bool) *request {
	return &request{Request: r, plugin: p, ticket: p.queue.enter(write)}
}

// Run implements gateway.Call.
func (r *request) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	defer r.ticket.leave()
	return r.recorded(ctx, func(ctx context.Context, record func(sandbox.Operation)) (json.RawMessage, int64, error) {
		return r.run(ctx, r.Params, voice{n, r.plugin}, record)
	})
}

// run has the module answer with params, and says how much fuel it took. record is told of its operations;
// it may be nil.
func (r *request) run(ctx context.Context, params json.RawMessage, n sandbox.Notifier, record func(sandbox.Operation)) (result json.RawMessage, fuel int64, err error) {
	if err := r.ticket.wait(ctx); err != nil {
		return nil, 0, err
	}
	if err := r.hold(ctx); err != nil {
		return nil, 0, err
	}
	module, err := r.plugin.loaded()
	if err != nil {
		r.plugin.log.Error("the sandbox cannot be set up", "error", err)
		return nil, 0, r.Failure(failureSandbox, "cannot run: "+err.Error())
	}
	ctx, scope := sandbox.Begin(ctx, n, record)
	defer scope.End()
	response, err := module.Call(ctx, r.Method, params)
	if err != nil {
		return nil, response.Fuel, r.failed(err)
	}
	result, err = r.result(response)
	return result, response.Fuel, err
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

// result takes the module's answer apart, and refuses one that no client could read, so that the record of the
// call says so too. Errors of the file system that WASI has no number for are added
// to an answer that reports an error: the module could only say that something went wrong.
func (r *request) result(response engine.Response) (json.RawMessage, error) {
	for _, fault := range response.Faults {
		r.plugin.log.Error("the file system failed", "method", r.Method, "name", r.Name, "error", fault)
	}
	if !json.Valid(response.Body) {
		return nil, r.Failure(failureResponse, "gave an answer that is not JSON")
	}
	result := rawjson.Member(response.Body, "result")
	if answered := rawjson.Member(response.Body, "error"); answered != nil {
		var own *abi.Error
		if err := json.Unmarshal(answered, &own); err != nil || own == nil {
			return nil, r.Failure(failureResponse, "gave an error that is not of the ABI")
		}
		if len(response.Faults) > 0 {
			own.Message += "\n" + faultText(response.Faults)
		}
		return nil, own
	}
	switch {
	case result == nil:
		return nil, r.Failure(failureResponse, "gave an answer that holds neither a result nor an error")
	case len(response.Faults) > 0:
		result = withFaults(result, response.Faults)
	}
	if why := gateway.CheckResult(r.Method, result); why != "" {
		return nil, r.Failure(gateway.FailureInvalidResult, "gave a result that cannot be read: "+why)
	}
	return result, nil
}

// withFaults appends the faults to the content of a result that reports an error.
func withFaults(result json.RawMessage, faults []error) json.RawMessage {
	var members map[string]json.RawMessage
	var content []json.RawMessage
	if json.Unmarshal(result, &members) != nil || string(members["isError"]) != "true" || json.Unmarshal(members["content"], &content) != nil {
		return result // not an error, or no result at all, which the gateway says
	}
	item, err := json.Marshal(map[string]string{"type": "text", "text": faultText(faults)})
	if err != nil {
		return result
	}
	if members["content"], err = json.Marshal(append(content, item)); err != nil {
		return result
	}
	longer, err := json.Marshal(members)
	if err != nil {
		return result
	}
	return longer
}

func faultText(faults []error) string {
	lines := make([]string, len(faults))
	for i, fault := range faults {
		lines[i] = "bulkhead: " + fault.Error()
	}
	return strings.Join(lines, "\n")
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

// voice is how a call of a plugin speaks to clients: it says that something changed only where the manifest
// offers that, and of its own resources.
type voice struct {
	gateway.Notifier
	plugin *plugin
}

// Notify implements sandbox.Notifier.
func (v voice) Notify(method string, params json.RawMessage) error {
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
	return v.Notifier.Notify(method, params)
}

// The notifications by which a call says what it changed.
const (
	methodPromptsChanged   = "notifications/prompts/list_changed"
	methodResourcesChanged = "notifications/resources/list_changed"
	methodResourceUpdated  = "notifications/resources/updated"
)
