package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Dispatch handles one request of ABI 1 and returns the response. In a module, Serve makes the host's requests reach Dispatch. In tests,
// package sdktest calls it.
func (p *Plugin) Dispatch(request []byte) []byte {
	response, err := p.handle(request)
	if err == nil {
		return append(response, '}')
	}
	failure := &Error{Code: abi.CodeInternal, Message: err.Error()}
	if own := (*Error)(nil); errors.As(err, &own) {
		failure = own
	}
	response, err = rawjson.Marshal(abi.Response{Error: failure})
	if err != nil { // the Data that the plugin set is not valid JSON
		response, _ = rawjson.Marshal(abi.Response{Error: &Error{Code: failure.Code, Message: failure.Message}})
	}
	return response
}

// responseStart is the beginning of a response with a result.
const responseStart = `{"result":`

// handle returns the response to a request, without the closing brace, which Dispatch appends.
func (p *Plugin) handle(request []byte) ([]byte, error) {
	method, params, ctx, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	switch method {
	case abi.MethodToolsCall:
		return p.callTool(ctx, params)
	case abi.MethodDescribe:
		return p.describe(params)
	case abi.MethodPromptsList, abi.MethodPromptsGet:
		if p.prompts != nil {
			return p.handlePrompts(ctx, method, params)
		}
	case abi.MethodResourcesList, abi.MethodResourcesTemplatesList, abi.MethodResourcesRead:
		if p.resources != nil {
			return p.handleResources(ctx, method, params)
		}
	case abi.MethodComplete:
		if p.complete != nil {
			return p.handleComplete(ctx, params)
		}
	}
	return nil, &Error{Code: abi.CodeMethodNotFound, Message: fmt.Sprintf("no handler for %s", method)}
}

// parseRequest splits a request into its method and its parameters, and creates its context.
func parseRequest(request []byte) (method string, params []byte, ctx callContext, err error) {
	ctx = callContext{Context: context.Background()}
	err = rawjson.ScanObject(request, func(key, value []byte) {
		switch string(key) {
		case "method":
			method = string(bytes.Trim(value, `"`)) // names of methods contain no escapes
		case "deadline":
			ctx.deadline, _ = strconv.ParseInt(string(value), 10, 64)
		case "params":
			params = value
		case "client", "answers", "state":
			if ctx.talk == nil {
				ctx.talk = &conversation{}
			}
			ctx.talk.decode(string(key), value)
		}
	})
	if err != nil {
		return "", nil, ctx, fmt.Errorf("request: %w", err)
	}
	return method, params, ctx, nil
}

func (p *Plugin) callTool(ctx callContext, params []byte) ([]byte, error) {
	var nameText, arguments []byte
	err := rawjson.ScanObject(params, func(key, value []byte) {
		switch string(key) {
		case "name":
			nameText = value
		case "arguments":
			arguments = value
		case "_meta":
			ctx.meta = value
		}
	})
	if err != nil {
		return nil, &Error{Code: abi.CodeInvalidParams, Message: "params: " + err.Error()}
	}
	name, ok := rawjson.Unquote(nameText)
	if !ok {
		return nil, &Error{Code: abi.CodeInvalidParams, Message: "params.name is not a string"}
	}
	tool, ok := p.tools[name]
	if !ok {
		return nil, &Error{Code: abi.CodeInvalidParams, Message: fmt.Sprintf("no handler for tool %q", name)}
	}
	result, err := tool.handle(ctx, arguments)
	if errors.Is(err, ErrAsking) {
		return ctx.encodeAsk(err)
	}
	if err != nil {
		if own := (*Error)(nil); errors.As(err, &own) {
			return nil, err
		}
		result = ErrorText(err.Error())
	}
	if result == nil {
		return nil, fmt.Errorf("the handler of tool %q returned neither a result nor an error", name)
	}
	if result.Content == nil {
		result.Content = []Content{}
	}
	return result.appendTo([]byte(responseStart))
}

func (p *Plugin) handlePrompts(ctx callContext, method string, params []byte) ([]byte, error) {
	if method == abi.MethodPromptsList {
		prompts, err := p.prompts.List(ctx)
		return encodeList("prompts", prompts, err)
	}
	var get struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
		Meta      json.RawMessage   `json:"_meta"`
	}
	if err := decodeParams(params, &get); err != nil {
		return nil, err
	}
	ctx.meta = get.Meta
	result, err := p.prompts.Get(ctx, get.Name, get.Arguments)
	if err != nil {
		return ctx.encodeAsk(err)
	}
	return encodeResult(result)
}

func (p *Plugin) handleResources(ctx callContext, method string, params []byte) ([]byte, error) {
	switch method {
	case abi.MethodResourcesList:
		resources, err := p.resources.List(ctx)
		return encodeList("resources", resources, err)
	case abi.MethodResourcesTemplatesList:
		if p.resources.Templates == nil {
			return encodeList("resourceTemplates", []ResourceTemplate{}, nil)
		}
		templates, err := p.resources.Templates(ctx)
		return encodeList("resourceTemplates", templates, err)
	}
	var read struct {
		URI  string          `json:"uri"`
		Meta json.RawMessage `json:"_meta"`
	}
	if err := decodeParams(params, &read); err != nil {
		return nil, err
	}
	ctx.meta = read.Meta
	contents, err := p.resources.Read(ctx, read.URI)
	if err != nil {
		return ctx.encodeAsk(err)
	}
	return encodeList("contents", contents, err)
}

func (p *Plugin) handleComplete(ctx callContext, params []byte) ([]byte, error) {
	var request struct {
		CompleteRequest
		Meta json.RawMessage `json:"_meta"`
	}
	if err := decodeParams(params, &request); err != nil {
		return nil, err
	}
	ctx.meta = request.Meta
	completion, err := p.complete(ctx, request.CompleteRequest)
	if err != nil {
		return nil, err
	}
	return encodeResult(map[string]any{"completion": completion})
}

func decodeParams(params []byte, into any) error {
	if err := json.Unmarshal(params, into); err != nil {
		return &Error{Code: abi.CodeInvalidParams, Message: "invalid params: " + err.Error()}
	}
	return nil
}

// encodeList encodes items as the member called name. If items is nil, the member is an empty array, since MCP requires an array.
func encodeList[T any](name string, items []T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if items == nil {
		items = []T{}
	}
	return encodeResult(map[string][]T{name: items})
}

// encodeResult returns a response with the result v, without the closing brace, which Dispatch appends.
func encodeResult(v any) ([]byte, error) {
	result, err := rawjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append([]byte(responseStart), result...), nil
}
