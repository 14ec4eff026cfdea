package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/flat"
)

// Plugin contains the handlers of one plugin. Register all handlers before calling Serve, and none afterwards.
type Plugin struct {
	tools     map[string]tool
	prompts   *Prompts
	resources *Resources
	complete  CompleteFunc
}

// tool is the handler of a tool with the types from which its schemas are derived.
type tool struct {
	handle  toolHandler
	in, out reflect.Type // out is nil if the handler returns a *ToolResult
}

type toolHandler func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error)

// Error is a JSON-RPC error. If a handler returns an *Error, the request fails with it. Any other error of a tool's handler becomes a result
// to which the model can react.
type Error = abi.Error

// New returns a plugin without handlers.
func New() *Plugin { return &Plugin{tools: map[string]tool{}} }

// HandleTool registers the handler of the tool called name. encoding/json decodes the arguments of a call into In; an integer may have a
// fraction of zero or an exponent, as in JSON Schema. If there are no arguments, In is its zero value. If In is json.RawMessage, the handler gets the bytes that the client sent, or nil. If the handler returns an
// *Error, the request fails; any other error becomes a result with isError and the error's text. HandleTool panics if the name is already
// registered.
//
// The tool's input schema in plugin.toml must agree with In. `bulkhead plugin schema DIR --write` derives it from In and writes it into
// plugin.toml.
func HandleTool[In any](p *Plugin, name string, handle func(context.Context, In) (*ToolResult, error)) {
	var decode toolHandler
	if raw, ok := any(handle).(func(context.Context, json.RawMessage) (*ToolResult, error)); ok {
		decode = raw
	} else {
		decode = decoding(handle)
	}
	p.addTool(name, tool{handle: decode, in: reflect.TypeFor[In]()})
}

// HandleStructuredTool registers the handler of a tool that returns a value: a struct, a pointer to one, or a map, since MCP requires an
// object. The JSON of the value is the structuredContent of the result, and the text for clients that do not know structuredContent. Nil
// slices and maps in the value are encoded as empty ones. HandleStructuredTool panics if Out is any other type. Otherwise it is like
// HandleTool.
//
// The tool's output schema in plugin.toml, if it has one, must agree with Out.
func HandleStructuredTool[In, Out any](p *Plugin, name string, handle func(context.Context, In) (Out, error)) {
	out := reflect.TypeFor[Out]()
	if !isObject(out) {
		panic(fmt.Sprintf("sdk: tool %q returns %s, which is not a JSON object: return a struct", name, out))
	}
	p.addTool(name, tool{in: reflect.TypeFor[In](), out: out, handle: decoding(func(ctx context.Context, in In) (*ToolResult, error) {
		value, err := handle(ctx, in)
		if err != nil {
			return nil, err
		}
		return structured(&value)
	})})
}

func (p *Plugin) addTool(name string, t tool) {
	if _, duplicate := p.tools[name]; duplicate {
		panic(fmt.Sprintf("sdk: tool %q is registered twice", name))
	}
	p.tools[name] = t
}

// decoding returns a handler that decodes the arguments of a call.
func decoding[In any](handle func(context.Context, In) (*ToolResult, error)) toolHandler {
	plain := flat.For(reflect.TypeFor[In]())
	return func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error) {
		var in In
		if len(arguments) > 0 && !plain.Decode(arguments, reflect.ValueOf(&in)) {
			in = *new(In) // Decode may have set some fields before it failed
			if err := unmarshal(arguments, &in); err != nil {
				return nil, fmt.Errorf("invalid arguments: %w", err)
			}
		}
		return handle(ctx, in)
	}
}

// unmarshal decodes arguments as json.Unmarshal does, and also integers such as 1.0.
func unmarshal[In any](arguments []byte, in *In) error {
	err := json.Unmarshal(arguments, in)
	if mismatch := (*json.UnmarshalTypeError)(nil); !errors.As(err, &mismatch) {
		return err
	}
	var again In
	if json.Unmarshal(wholeNumbers(arguments), &again) != nil {
		return err // which shows the number as the client sent it
	}
	*in = again
	return nil
}

// HandlePrompts registers the handlers of prompts/list and prompts/get.
func (p *Plugin) HandlePrompts(prompts Prompts) { p.prompts = &prompts }

// HandleResources registers the handlers of resources/list, resources/templates/list and resources/read.
func (p *Plugin) HandleResources(resources Resources) { p.resources = &resources }

// HandleComplete registers the handler of completion/complete.
func (p *Plugin) HandleComplete(complete CompleteFunc) { p.complete = complete }
