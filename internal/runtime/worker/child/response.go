package child

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Checker validates responses. It is safe for concurrent use.
type Checker struct {
	// Result returns the reason why the result of a method is not valid MCP, or "". The result is valid JSON.
	Result func(method string, result []byte) string
	// Values limits the number of values that are decoded for validation by a schema.
	Values int
}

// Ask is the error of a response that asks the client: an abi.Ask in JSON, which is valid.
type Ask struct{ JSON []byte }

func (*Ask) Error() string { return "the module asks the client" }

// Parse returns the result of a response. output returns the schema of its structured content; nil: there is no schema. The
// error is an *Ask, an *abi.Error from the module, or an *engine.Error without Plugin. Parse appends Response.Faults to a
// response that reports an error, because WASI has no errno for them and the module could not describe them.
func (c Checker) Parse(method string, r engine.Held, output func() (*schema.Schema, error)) (json.RawMessage, error) {
	var result, answered, asked []byte
	s := rawjson.NewScanner(r.Body)
	s.Object(func(key []byte) {
		switch string(key) {
		case "result":
			result = s.Value()
		case "error":
			answered = s.Value()
		case "ask":
			asked = s.Value()
		}
	})
	switch {
	case !s.End():
		return nil, invalid("returned a response that is not JSON")
	case answered != nil:
		return nil, moduleError(answered, r.Faults)
	case result != nil && asked != nil:
		return nil, invalid("returned a response with both a result and an ask")
	case asked != nil:
		return nil, checkAsk(method, asked)
	case result == nil:
		return nil, invalid("returned a response with neither a result nor an error")
	}
	if len(r.Faults) > 0 {
		result = withFaults(result, r.Faults)
	}
	if why := c.Result(method, result); why != "" {
		return nil, &engine.Error{Code: engine.CodeInvalidResult, Message: "returned an invalid result: " + why}
	}
	if output != nil {
		if why := c.checkOutput(result, output); why != "" {
			return nil, &engine.Error{Code: engine.CodeInvalidResult, Message: why}
		}
	}
	return result, nil
}

func invalid(message string) *engine.Error {
	return &engine.Error{Code: engine.CodeInvalidResponse, Message: message}
}

// checkAsk returns the *Ask of a response, or why it is invalid.
func checkAsk(method string, asked []byte) error {
	if !interaction.Supports(method) {
		return invalid("asked the client in its response to " + method + ", where the ABI does not allow that")
	}
	if _, err := interaction.Parse(asked); err != nil {
		return invalid("asked the client, but the ask violates the ABI: " + err.Error())
	}
	return &Ask{asked}
}

// moduleError decodes the error in a response.
func moduleError(answered []byte, faults []error) error {
	var e *abi.Error
	if err := json.Unmarshal(answered, &e); err != nil || e == nil {
		return invalid("returned an error that violates the ABI")
	}
	if len(faults) > 0 {
		e.Message += "\n" + faultText(faults)
	}
	return e
}

// IsError reports whether a tool result has isError set.
func IsError(result []byte) bool { return string(rawjson.Member(result, "isError")) == "true" }

// checkOutput returns the reason why a result violates the tool's output schema, or "". Results that report an error are
// exempt.
func (c Checker) checkOutput(result json.RawMessage, output func() (*schema.Schema, error)) string {
	if IsError(result) {
		return ""
	}
	structured := rawjson.Member(result, "structuredContent")
	if structured == nil {
		return "returned a result without the structuredContent that its output schema requires"
	}
	s, err := output()
	if err != nil {
		return "has an output " + err.Error()
	}
	if err := s.ValidateWithin(structured, c.Values); err != nil {
		return "returned structuredContent that violates its output schema: " + err.Error()
	}
	return ""
}

// withFaults appends the faults to the content of an error result. It does not decode the content, which could take many times
// its size in memory.
func withFaults(result json.RawMessage, faults []error) json.RawMessage {
	content := bytes.TrimSpace(rawjson.Member(result, "content"))
	if !IsError(result) || rawjson.Kind(content) != '[' {
		return result // it is not an error, or it is invalid, which Checker.Result reports
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
