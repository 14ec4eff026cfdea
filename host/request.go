package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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

// withFaults appends the faults to the content of a result that reports an error. The content is not decoded:
// of empty items it would take many times its size.
func withFaults(result json.RawMessage, faults []error) json.RawMessage {
	content := bytes.TrimSpace(rawjson.Member(result, "content"))
	if string(rawjson.Member(result, "isError")) != "true" || rawjson.Kind(content) != '[' {
		return result // not an error, or no result at all, which the gateway says
	}
	items := bytes.TrimSpace(content[1 : len(content)-1])
	longer := append(make([]byte, 0, len(content)+256), '[')
	if longer = append(longer, items...); len(items) > 0 {
		longer = append(longer, ',')
	}
	longer = append(append(longer, `{"text":`...), rawjson.Quote(faultText(faults))...)
	return rawjson.Replace(result, "content", append(longer, `,"type":"text"}]`...))
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
