package tools

import (
	"encoding/json"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

// arguments maps the names of the arguments of a call to their values. As in the chant CLI, an optional argument of the
// wrong type counts as absent, and unknown arguments are ignored.
type arguments map[string]json.RawMessage

// parse parses the arguments of a call; raw is nil if the call has no arguments. parse returns an error if the required
// argument is missing.
func (t tool) parse(raw json.RawMessage) (arguments, error) {
	var given arguments
	if len(raw) > 0 {
		// The error is ignored: a value that is not a JSON object has no arguments, so parse reports the required
		// argument as missing.
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

// string returns the value of a string argument. It returns nil if the argument is absent or has another type.
func (a arguments) string(name string) *string {
	var value *string
	if err := json.Unmarshal(a[name], &value); err != nil {
		return nil
	}
	return value
}

// uint returns the value of a non-negative integer argument. It returns fallback if the argument is absent, has another
// type or is negative.
func (a arguments) uint(name string, fallback uint64) uint64 {
	value, err := strconv.ParseUint(string(a[name]), 10, 64)
	if err != nil {
		return fallback
	}
	return value
}

// bool returns the value of a boolean argument. It returns false if the argument is absent or has another type.
func (a arguments) bool(name string) bool { return string(a[name]) == "true" }
