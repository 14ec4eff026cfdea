package dispatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/bulkhead-mcp/bulkhead/internal/base/cutjson"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of what a client gets of a script, in bytes.
const (
	maxScriptValue   = 64 << 10 // what the script returns
	maxScriptConsole = 16 << 10 // what it prints
	maxScriptError   = 8 << 10

	maxScriptDepth = 100 // levels of the value, which is part of a message
)

// scriptOutput is the structured content of the result of a script.
type scriptOutput struct {
	Value   json.RawMessage   `json:"value,omitempty"`
	Error   *scriptError      `json:"error,omitempty"`
	Console json.RawMessage   `json:"console,omitempty"`
	Cut     []cutjson.Missing `json:"cut,omitempty"` // what is missing of the value and of the console
	Note    string            `json:"note,omitempty"`
}

// scriptError is what a script threw, with the position in the script.
type scriptError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Text    string `json:"stack"`
}

const (
	noteCut       = "the result is too long and was cut: return less, for example a part of an array or only the members that are needed"
	noteUndefined = "the script returned nothing: it is the body of a function, so end it with return"
)

// withScriptError returns the result and error of a script's module, whose own errors are results: a JSON-RPC error has no bound, and its code
// and data can ask something of a client.
func withScriptError(r call.Result, err error) (call.Result, error) {
	own := (*abi.Error)(nil)
	if !errors.As(err, &own) {
		return r, err
	}
	r.Kind, r.Body = call.ToolError, fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, rawjson.Quote(own.Message))
	return r, nil
}

// scriptResult returns the result of a script, given that of its module, which the script can make whatever it likes: only a value, an error
// and printed lines are taken of it, and bounded.
func scriptResult(r call.Result) (call.Result, error) {
	made := rawjson.Member(r.Body, "structuredContent")
	var out scriptOutput
	failed := r.Kind == call.ToolError
	if text, ok := rawjson.Unquote(rawjson.Member(made, "value")); ok {
		value := []byte(text)
		if why := checkValue(value); why != "" {
			out.Error, failed = &scriptError{Name: "RangeError", Message: why, Text: "RangeError: " + why}, true
		} else {
			out.Value, out.Cut = cut(value, maxScriptValue, "/value", out.Cut)
		}
	}
	if lines := rawjson.Member(made, "console"); rawjson.Kind(lines) == '[' && string(lines) != "[]" {
		out.Console, out.Cut = cut(lines, maxScriptConsole, "/console", out.Cut)
	}
	if len(out.Cut) > 0 {
		out.Note = noteCut
	}
	switch {
	case out.Error != nil:
	case failed:
		out.Error = readScriptError(r.Body)
	case out.Value == nil:
		out.Note = noteUndefined
	}
	structured, err := rawjson.Marshal(out)
	if err != nil {
		return call.Result{}, err
	}
	text := structured
	if failed && out.Console == nil {
		text = []byte(out.Error.Text)
	}
	content, err := rawjson.Marshal(struct {
		Content    []any           `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError,omitempty"`
	}{[]any{map[string]string{"type": "text", "text": string(text)}}, structured, failed})
	if err != nil {
		return call.Result{}, err
	}
	r = r.WithBody(content)
	r.Kind = call.OK
	if failed {
		r.Kind = call.ToolError
	}
	return r, nil
}

// printed adds to the failure of a script that was stopped what it had printed until then.
func (q *queued) printed(f *gateway.Failure, failure *engine.Error) *gateway.Failure {
	if len(failure.Printed) == 0 || !q.plugin.IsHost() {
		return f
	}
	lines, err := rawjson.Marshal(failure.Printed)
	if err != nil {
		return f
	}
	out := scriptOutput{Error: &scriptError{Name: "Error", Message: f.Message, Text: f.Text}}
	limit := cmp.Or(q.resultLimit(), math.MaxInt)
	if out.Console, out.Cut = cut(lines, min(maxScriptConsole, limit/2), "/console", nil); len(out.Cut) > 0 {
		out.Note = noteCut
	}
	text, err := rawjson.Marshal(out)
	if len(text) > limit {
		out.Cut = nil // the console itself has marks where something is missing
		text, err = rawjson.Marshal(out)
	}
	if err == nil && len(text) <= limit {
		f.Text = string(text)
	}
	return f
}

// checkValue returns why clients cannot get a value; "" if they can. It replaces surrogates without their other half in place.
func checkValue(value []byte) string {
	s := call.NewScanner(value)
	s.Value()
	switch {
	case s.Refusal() != "":
		return "the value that the script returned cannot be sent: " + s.Refusal()
	case !s.End():
		return "the value that the script returned is not JSON"
	case rawjson.Bound(value, math.MaxInt, maxScriptDepth) != nil:
		return fmt.Sprintf("the value that the script returned nests deeper than %d levels", maxScriptDepth)
	case s.HasUnpaired():
		rawjson.ReplaceUnpaired(value)
	}
	return ""
}

// cut bounds a value at a path and adds what is missing to all.
func cut(value []byte, max int, path string, all []cutjson.Missing) (json.RawMessage, []cutjson.Missing) {
	kept, missing := cutjson.Cut(value, max)
	for _, m := range missing {
		m.Path = path + m.Path
		all = append(all, m)
	}
	return kept, all
}

// readScriptError reads the error in the result of a script's module. Members of other types are left out. If the module has ended the
// script, there is only a text.
func readScriptError(body []byte) *scriptError {
	made := rawjson.Member(rawjson.Member(body, "structuredContent"), "error")
	if rawjson.Kind(made) != '{' {
		why := visible.Bounded(contentText(body), maxScriptError)
		return &scriptError{Name: "Error", Message: why, Text: why}
	}
	text := func(name string) string {
		s, _ := rawjson.Unquote(rawjson.Member(made, name))
		return visible.Bounded(s, maxScriptError)
	}
	number := func(name string) (n int) {
		_ = json.Unmarshal(rawjson.Member(made, name), &n)
		return n
	}
	return &scriptError{Name: text("name"), Message: text("message"), Line: number("line"), Column: number("column"), Text: text("text")}
}
