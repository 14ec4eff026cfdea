package child

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// responses validates the responses of a module, so that untrusted responses are decoded where they can harm only their own plugin. It is
// safe for concurrent use.
type responses struct {
	outputs []func() (*schema.Schema, error) // the output schemas that requests refer to; a schema is compiled when it is first needed
	values  int                              // limit of the values that are decoded for validation by a schema
}

func newResponses(setup wire.Setup) responses {
	v := responses{values: int((setup.Limits.Memory + setup.Limits.Output) / schema.BytesPerValue)}
	for _, text := range setup.Schemas {
		v.outputs = append(v.outputs, sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(text) }))
	}
	return v
}

// parse returns the kind and body of a request's result, given the module's response. It appends the response's faults to a response that
// reports an error, because WASI has no errno for them and the module could not describe them. One pass validates the response and finds
// what is needed of it; the result of an error with faults is read again.
func (v responses) parse(r *call.Request, response engine.Held) (call.Kind, []byte) {
	var result call.Scanned
	var moduleError, ask []byte
	s := call.NewScanner(response.Body)
	s.Object(func(key []byte) {
		switch string(key) {
		case "result":
			result = call.Scan(s, r.Method)
		case "error":
			moduleError = s.Value()
		case "ask":
			ask = s.Value()
		}
	})
	switch {
	case s.Refusal() != "":
		return invalid("returned a response that some clients cannot read: " + s.Refusal())
	case !s.End():
		return invalid("returned a response that is not JSON")
	case moduleError != nil:
		return parseError(moduleError, response.Faults)
	case result.JSON != nil && ask != nil:
		return invalid("returned a response with both a result and an ask")
	case ask != nil:
		return checkAsk(r.Method, ask)
	case result.JSON == nil:
		return invalid("returned a response with neither a result nor an error")
	}
	if len(response.Faults) > 0 {
		result = call.Scan(rawjson.NewScanner(withFaults(result.JSON, response.Faults)), r.Method)
	}
	if result.Why != "" {
		return failed(&engine.Error{Code: engine.CodeInvalidResult, Message: "returned an invalid result: " + result.Why})
	}
	if why := v.checkOutput(r.Output, result); why != "" {
		return failed(&engine.Error{Code: engine.CodeInvalidResult, Message: why})
	}
	if result.IsError {
		return call.ToolError, result.JSON
	}
	return call.OK, result.JSON
}

func invalid(message string) (call.Kind, []byte) {
	return failed(&engine.Error{Code: engine.CodeInvalidResponse, Message: message})
}

// failed returns the kind and body of a result that reports a failure.
func failed(failure *engine.Error) (call.Kind, []byte) {
	text, _ := json.Marshal(wire.Failure{Code: string(failure.Code), Message: failure.Message, Detail: failure.Detail, Panic: failure.Panic, Printed: failure.Printed}) // strings always encode
	return call.Failed, text
}

// checkAsk returns the ask of a response, or why it is invalid.
func checkAsk(method string, ask []byte) (call.Kind, []byte) {
	if !interaction.Supports(method) {
		return invalid("asked the client in its response to " + method + ", where the ABI does not allow that")
	}
	if _, err := interaction.Parse(ask); err != nil {
		return invalid("asked the client, but the ask violates the ABI: " + err.Error())
	}
	return call.Asks, ask
}

// parseError returns the module's own error.
func parseError(text []byte, faults []error) (call.Kind, []byte) {
	var e *abi.Error
	if err := json.Unmarshal(text, &e); err != nil || e == nil {
		return invalid("returned an error that violates the ABI")
	}
	if len(faults) > 0 {
		e.Message += "\n" + faultText(faults)
	}
	encoded, err := json.Marshal(e)
	if err != nil {
		return invalid("returned an error that violates the ABI")
	}
	return call.RPCError, encoded
}

// checkOutput returns the reason why a result violates the output schema with a number, or "". Results that report an error are exempt.
func (v responses) checkOutput(number int, result call.Scanned) string {
	if number < 1 || number > len(v.outputs) || result.IsError {
		return ""
	}
	if result.Structured == nil {
		return "returned a result without the structuredContent that its output schema requires"
	}
	output, err := v.outputs[number-1]()
	if err != nil {
		return "has an output " + err.Error()
	}
	if err := output.ValidateWithin(result.Structured, v.values); err != nil {
		return "returned structuredContent that violates its output schema: " + err.Error()
	}
	return ""
}

// withFaults appends the faults to the content of an error result. It does not decode the content, which could take many times
// its size in memory.
func withFaults(result json.RawMessage, faults []error) json.RawMessage {
	content := bytes.TrimSpace(rawjson.Member(result, "content"))
	if string(rawjson.Member(result, "isError")) != "true" || rawjson.Kind(content) != '[' {
		return result // it is not an error, or it is invalid, which call.Scan reports
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
