package extism

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Plugin describes a module for the translation.
type Plugin struct {
	Version Version
	Exports func(name string) bool // whether the module exports a function
}

// Translation is one request in the form of hyper-mcp, and the state of its translation.
type Translation struct {
	// Export is the function to run with Input; empty: no function is run, and Answer is the response.
	Export string
	Input  []byte
	Answer []byte

	plugin Plugin
	method string
	dialog dialog
}

// contextID is the request's id in the input. The host does not tell modules the ids of requests.
const contextID = `"id":"0"`

// Translate translates a request.
func Translate(p Plugin, r call.Request) *Translation {
	c := &Translation{plugin: p, method: r.Method, dialog: newDialog(r)}
	e, ok := p.Version.entry(r.Method)
	switch {
	case ok && p.Exports(e.export):
		c.Export = e.export
		c.Input = p.input(r)
	case ok && e.list != "" || p.Version == V1 && isList(r.Method):
		e, _ := V2.entry(r.Method)
		c.Answer = c.result([]byte(`{"` + e.list + `":[]}`)) // an empty list
	default:
		c.Answer = failure(abi.CodeMethodNotFound, "the plugin has no function for "+r.Method)
	}
	return c
}

func isList(method string) bool {
	e, ok := V2.entry(method)
	return ok && e.list != ""
}

// input returns the input of the export.
func (p Plugin) input(r call.Request) []byte {
	e, _ := p.Version.entry(r.Method)
	if p.Version == V1 {
		if e.list != "" {
			return nil
		}
		return append(append([]byte(`{"params":`), request(r)...), '}')
	}
	out := make([]byte, 0, len(r.Params)+64)
	out = append(out, '{')
	if e.list == "" {
		out = append(append(append(out, `"request":`...), request(r)...), ',')
	}
	meta := rawjson.Member(r.Params, "_meta")
	if rawjson.Kind(meta) != '{' {
		meta = []byte("{}")
	}
	out = append(append(out, `"context":{`+contextID+`,"_meta":`...), meta...)
	return append(out, "}}"...)
}

// request returns the parameters of a request without _meta, which the context of the input has. It removes the prefix "ref/" from the
// type of a completion's reference.
func request(r call.Request) []byte {
	out := []byte{'{'}
	for key, value := range rawjson.Members(r.Params) {
		switch {
		case key == "_meta":
			continue
		case key == "ref" && r.Method == abi.MethodComplete:
			value = reference(value)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendQuote(out, key), ':'), value...)
	}
	return append(out, '}')
}

func reference(ref []byte) []byte {
	kind, _ := rawjson.Unquote(rawjson.Member(ref, "type"))
	short, ok := strings.CutPrefix(kind, "ref/")
	if !ok {
		return ref
	}
	return rawjson.Replace(ref, "type", rawjson.Quote(short))
}

// Response converts the result of an export to a response of ABI 1. message is the error message that the plugin has set, or empty.
func (c *Translation) Response(code int32, output, message []byte) []byte {
	switch {
	case len(message) > 0:
		return c.failed(strings.ToValidUTF8(string(message), "\uFFFD"))
	case code != 0:
		return c.failed(fmt.Sprintf("the function %s failed with the code %d and without an error message", c.Export, code))
	case !rawjson.Valid(output) || rawjson.Kind(output) != '{':
		return c.failed(fmt.Sprintf("the function %s returned output that is not a JSON object", c.Export))
	}
	return c.result(withoutNulls(output))
}

func (c *Translation) result(output []byte) []byte {
	if c.method == abi.MethodDescribe {
		output = c.plugin.describe(output)
	}
	return append(append([]byte(`{"result":`), output...), '}')
}

// failed returns the response for an error of the plugin. The error of a tool is a result, so that models can read it.
func (c *Translation) failed(message string) []byte {
	if c.method != abi.MethodToolsCall {
		return failure(abi.CodeInternal, message)
	}
	out := append([]byte(`{"result":{"content":[{"type":"text","text":`), rawjson.Quote(message)...)
	return append(out, `}],"isError":true}}`...)
}

func failure(code int, message string) []byte {
	out := fmt.Appendf(nil, `{"error":{"code":%d,"message":`, code)
	return append(append(out, rawjson.Quote(message)...), "}}"...)
}
