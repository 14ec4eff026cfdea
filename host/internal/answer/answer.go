// Package answer takes a module's response to a request apart and checks it: Checker.Parse gives the method's
// result, the module's own error, or what is wrong with the response. It runs in the worker process, so that what
// a module sends is decoded where it harms its own plugin only.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/host/schema"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Checker checks responses. It is safe for concurrent use.
type Checker struct {
	// Result says what keeps a client from reading a method's result, which is valid JSON; empty: nothing does.
	Result func(method string, result []byte) string
	// Values bounds the values that are decoded to be checked by a schema.
	Values int
}

// Parse gives the result of a response. output is the schema that its structured content must fit; nil: none. The
// error is an *abi.Error of the module's own, or an *engine.Error without plugin. Errors of the file system that
// WASI has no number for are added to an answer that reports an error: the module could only say that something
// went wrong.
func (c Checker) Parse(method string, r engine.Response, output func() (*schema.Schema, error)) (json.RawMessage, error) {
	var result, answered []byte
	s := rawjson.NewScanner(r.Body)
	s.Object(func(key []byte) {
		switch string(key) {
		case "result":
			result = s.Value()
		case "error":
			answered = s.Value()
		}
	})
	switch {
	case !s.End():
		return nil, invalid("gave an answer that is not JSON")
	case answered != nil:
		return nil, moduleError(answered, r.Faults)
	case result == nil:
		return nil, invalid("gave an answer that holds neither a result nor an error")
	}
	if len(r.Faults) > 0 {
		result = withFaults(result, r.Faults)
	}
	if why := c.Result(method, result); why != "" {
		return nil, &engine.Error{Code: engine.CodeInvalidResult, Message: "gave a result that cannot be read: " + why}
	}
	if output != nil {
		if why := c.unfit(result, output); why != "" {
			return nil, &engine.Error{Code: engine.CodeInvalidResult, Message: why}
		}
	}
	return result, nil
}

func invalid(message string) *engine.Error {
	return &engine.Error{Code: engine.CodeInvalidResponse, Message: message}
}

// moduleError is the error that a module answers with.
func moduleError(answered []byte, faults []error) error {
	var own *abi.Error
	if err := json.Unmarshal(answered, &own); err != nil || own == nil {
		return invalid("gave an error that is not of the ABI")
	}
	if len(faults) > 0 {
		own.Message += "\n" + faultText(faults)
	}
	return own
}

// IsError reports whether the result of a tool says that it is an error.
func IsError(result []byte) bool { return string(rawjson.Member(result, "isError")) == "true" }

// unfit says what of a result does not fit the tool's output schema; empty: all does. A result that is an error
// need not.
func (c Checker) unfit(result json.RawMessage, output func() (*schema.Schema, error)) string {
	if IsError(result) {
		return ""
	}
	structured := rawjson.Member(result, "structuredContent")
	if structured == nil {
		return "gave a result without the structuredContent that its output schema promises"
	}
	s, err := output()
	if err != nil {
		return "has an output " + err.Error()
	}
	if err := s.ValidateWithin(structured, c.Values); err != nil {
		return "gave structuredContent that does not fit its output schema: " + err.Error()
	}
	return ""
}

// withFaults appends the faults to the content of a result that reports an error. The content is not decoded:
// of empty items it would take many times its size.
func withFaults(result json.RawMessage, faults []error) json.RawMessage {
	content := bytes.TrimSpace(rawjson.Member(result, "content"))
	if !IsError(result) || rawjson.Kind(content) != '[' {
		return result // not an error, or no result at all, which the check of the result says
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
		lines[i] = fmt.Sprintf("bulkhead: %v", fault)
	}
	return strings.Join(lines, "\n")
}
