package tools

import (
	"encoding/json"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

// arguments has a call's arguments by name. As in the chant CLI, an optional argument of the wrong type counts as absent,
// and unknown arguments are ignored.
type arguments map[string]json.RawMessage

// parse parses a call's arguments; raw is nil if the call has none. It returns an error if the required argument is missing.
func (t tool) parse(raw json.RawMessage) (arguments, error) {
	var given arguments
	if len(raw) > 0 {
		// Ignore the error: a value that is not an object has no arguments, so parse reports the required one as missing.
		_ = json.Unmarshal(raw, &given)
	}
	if t.required == "" || given.string(t.required) != nil {
		return given, nil
	}
	if raw == nil && t.name != "chant_spec_get" {
		return nil, workflow.Refusal("Missing arguments")
	}
	return nil, workflow.Refusal("Missing required parameter: " + t.required)
}

// string returns a string argument; nil if it is absent or has another type.
func (a arguments) string(name string) *string {
	var value *string
	if err := json.Unmarshal(a[name], &value); err != nil {
		return nil
	}
	return value
}

// uint returns a non-negative integer argument; fallback if the argument is absent or has another type or a negative value.
func (a arguments) uint(name string, fallback uint64) uint64 {
	value, err := strconv.ParseUint(string(a[name]), 10, 64)
	if err != nil {
		return fallback
	}
	return value
}

// bool returns a boolean argument; false if it is absent or has another type.
func (a arguments) bool(name string) bool { return string(a[name]) == "true" }
