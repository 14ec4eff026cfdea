package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/gateway"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Codes of failures that are found here, beside the engine's and the gateway's.
const (
	failureArguments = "invalid_arguments" // they do not fit the tool's schema
	failureResponse  = "invalid_response"  // the module's answer is none of ABI 1
	failureSandbox   = "sandbox"           // what the plugin is granted cannot be set up
)

// backend answers the gateway.
type backend struct{ host *Host }

var _ gateway.Backend = backend{}

// Tool implements gateway.Backend: it queues a call.
func (b backend) Tool(name string) (gateway.Call, bool) {
	o, ok := b.host.tools[name]
	if !ok || o.plugin.problem != "" {
		return nil, false
	}
	return &call{offer: o, ticket: o.plugin.queue.enter(o.tool.Write)}, true
}

// Refusal implements gateway.Backend. A tool that is withheld is unknown to clients, which is all they hear.
func (b backend) Refusal(name string) string {
	for _, p := range b.host.plugins {
		if p.problem != "" && p.has(name) {
			return fmt.Sprintf("plugin %q is left out: %s", p.name, p.problem)
		}
	}
	return ""
}

// call is one call that waits or runs.
type call struct {
	offer
	ticket ticket
}

// Run implements gateway.Call.
func (c *call) Run(ctx context.Context, params json.RawMessage, n gateway.Notifier) (json.RawMessage, error) {
	defer c.ticket.leave()
	if c.plugin.host.audit == nil {
		result, _, err := c.run(ctx, params, n, nil)
		return result, err
	}
	return c.recorded(ctx, params, n)
}

// run does the call, and says how much fuel it took. record is told of its operations; it may be nil.
func (c *call) run(ctx context.Context, params json.RawMessage, n gateway.Notifier, record func(sandbox.Operation)) (result json.RawMessage, fuel int64, err error) {
	if c.plugin.manifest.Validate == manifest.ValidateHost {
		if err := c.tool.check(rawjson.Member(params, "arguments")); err != nil {
			return nil, 0, c.Failure(failureArguments, err.Error())
		}
	}
	if err := c.ticket.wait(ctx); err != nil {
		return nil, 0, err
	}
	module, err := c.plugin.loaded()
	if err != nil {
		c.plugin.log.Error("the sandbox cannot be set up", "error", err)
		return nil, 0, c.Failure(failureSandbox, "cannot run: "+err.Error())
	}
	ctx, scope := sandbox.Begin(ctx, n, record)
	defer scope.End()
	response, err := module.Call(ctx, abi.MethodToolsCall, c.tool.own(params))
	if err != nil {
		return nil, response.Fuel, c.failed(err)
	}
	result, err = c.result(response)
	return result, response.Fuel, err
}

// failed words a failure of the engine's.
func (c *call) failed(err error) error {
	failure := (*engine.Error)(nil)
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Code != engine.CodeCanceled {
		c.plugin.log.Error("a call failed", "tool", c.tool.Name, "code", failure.Code, "reason", failure.Message)
		c.plugin.log.Debug("a call failed", "tool", c.tool.Name, "detail", failure.Detail)
	}
	return c.Failure(string(failure.Code), failure.Message)
}

// result takes the module's answer apart. Errors of the file system that WASI has no number for are added
// to an answer that reports an error: the module could only say that something went wrong.
func (c *call) result(response engine.Response) (json.RawMessage, error) {
	for _, fault := range response.Faults {
		c.plugin.log.Error("the file system failed", "tool", c.tool.Name, "error", fault)
	}
	if !json.Valid(response.Body) {
		return nil, c.Failure(failureResponse, "gave an answer that is not JSON")
	}
	result := rawjson.Member(response.Body, "result")
	if answered := rawjson.Member(response.Body, "error"); answered != nil {
		var own *abi.Error
		if err := json.Unmarshal(answered, &own); err != nil || own == nil {
			return nil, c.Failure(failureResponse, "gave an error that is not of the ABI")
		}
		if len(response.Faults) > 0 {
			own.Message += "\n" + faultText(response.Faults)
		}
		return nil, own
	}
	switch {
	case result == nil:
		return nil, c.Failure(failureResponse, "gave an answer that holds neither a result nor an error")
	case len(response.Faults) > 0:
		return withFaults(result, response.Faults), nil
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

// Failure implements gateway.Call. The message is a predicate, whose subject is the tool.
func (c *call) Failure(code, message string) *gateway.Failure {
	template := c.plugin.manifest.Server.Failure
	if template == "" {
		template = "bulkhead: {tool} {message}"
	}
	text := strings.NewReplacer("{code}", code, "{plugin}", c.plugin.name, "{tool}", c.tool.offered, "{message}", message).Replace(template)
	return &gateway.Failure{Code: code, Plugin: c.plugin.name, Tool: c.tool.offered, Message: message, Text: text}
}
