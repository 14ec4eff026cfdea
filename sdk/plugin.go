package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/flat"
)

// Plugin contains the handlers of one plugin. Register all handlers before calling Serve, and none afterwards.
type Plugin struct {
	tools     map[string]toolHandler
	prompts   *Prompts
	resources *Resources
	complete  CompleteFunc
}

type toolHandler func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error)

// Error is a JSON-RPC error. If a handler returns an *Error, the request fails with it. Any other error of a tool's handler becomes a result
// to which the model can react.
type Error = abi.Error

// New returns a plugin without handlers.
func New() *Plugin { return &Plugin{tools: map[string]toolHandler{}} }

// HandleTool registers the handler of the tool called name. encoding/json decodes the arguments of a call into In. If there are no arguments,
// In is its zero value. If In is json.RawMessage, the handler gets the bytes that the client sent, or nil. If the handler returns an
// *Error, the request fails; any other error becomes a result with isError and the error's text. HandleTool panics if the name is already
// registered.
func HandleTool[In any](p *Plugin, name string, handle func(context.Context, In) (*ToolResult, error)) {
	if _, duplicate := p.tools[name]; duplicate {
		panic(fmt.Sprintf("sdk: tool %q is registered twice", name))
	}
	if raw, ok := any(handle).(func(context.Context, json.RawMessage) (*ToolResult, error)); ok {
		p.tools[name] = raw
		return
	}
	plain := flat.For(reflect.TypeFor[In]())
	p.tools[name] = func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error) {
		var in In
		if len(arguments) > 0 && !plain.Decode(arguments, reflect.ValueOf(&in)) {
			in = *new(In) // Decode may have set some fields before it failed
			if err := json.Unmarshal(arguments, &in); err != nil {
				return nil, fmt.Errorf("invalid arguments: %w", err)
			}
		}
		return handle(ctx, in)
	}
}

// HandlePrompts registers the handlers of prompts/list and prompts/get.
func (p *Plugin) HandlePrompts(prompts Prompts) { p.prompts = &prompts }

// HandleResources registers the handlers of resources/list, resources/templates/list and resources/read.
func (p *Plugin) HandleResources(resources Resources) { p.resources = &resources }

// HandleComplete registers the handler of completion/complete.
func (p *Plugin) HandleComplete(complete CompleteFunc) { p.complete = complete }

// Describe lists what the plugin has handlers for. Names are sorted.
func (p *Plugin) Describe() abi.Description {
	names := make([]string, 0, len(p.tools))
	for name := range p.tools {
		names = append(names, name)
	}
	slices.Sort(names)
	return abi.Description{
		Tools:       names,
		Prompts:     p.prompts != nil,
		Resources:   p.resources != nil,
		Completions: p.complete != nil,
	}
}
