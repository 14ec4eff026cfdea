package tools

import (
	"encoding/json"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

// arguments are a call's, by name. An optional one of the wrong type is as good as absent, and unknown
// ones do no harm.
type arguments map[string]json.RawMessage

// check reads a call's arguments, nil if it has none, and refuses a call without the required one.
func (t tool) check(raw json.RawMessage) (arguments, error) {
	var given arguments
	if len(raw) > 0 {
		// What is no object holds no arguments: the check below says which one is missing.
		_ = json.Unmarshal(raw, &given)
	}
	if t.required == "" || given.text(t.required) != nil {
		return given, nil
	}
	if raw == nil && t.name != "chant_spec_get" {
		return nil, workflow.Refusal("Missing arguments")
	}
	return nil, workflow.Refusal("Missing required parameter: " + t.required)
}

// text returns a string; nil if it is absent or something else.
func (a arguments) text(name string) *string {
	var value *string
	if err := json.Unmarshal(a[name], &value); err != nil {
		return nil
	}
	return value
}

// number returns an integer from 0 on; what it is in its place otherwise.
func (a arguments) number(name string, otherwise uint64) uint64 {
	value, err := strconv.ParseUint(string(a[name]), 10, 64)
	if err != nil {
		return otherwise
	}
	return value
}

// flag returns a boolean; false if it is absent or something else.
func (a arguments) flag(name string) bool { return string(a[name]) == "true" }
