package tools

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// argument is an argument of a tool.
type argument struct {
	name     string
	required bool
	flag     bool // a boolean; else a string
}

// arguments has the given arguments of a call by name.
type arguments map[string]any

// parse decodes a call's arguments. Null counts as absent, and unknown arguments are ignored.
func parse(raw json.RawMessage, takes []argument) (arguments, error) {
	var sent map[string]json.RawMessage
	if len(raw) > 0 {
		// A value that is not an object has no arguments: the missing one is reported below.
		_ = json.Unmarshal(raw, &sent)
	}
	given := arguments{}
	for _, a := range takes {
		value := sent[a.name]
		if len(value) == 0 || string(value) == "null" {
			if a.required {
				return nil, item.Refuse("Missing required argument '%s'", a.name)
			}
			continue
		}
		parsed, err := a.parse(value)
		if err != nil {
			return nil, err
		}
		given[a.name] = parsed
	}
	return given, nil
}

func (a argument) parse(value json.RawMessage) (any, error) {
	if a.flag {
		var flag bool
		if err := json.Unmarshal(value, &flag); err != nil {
			return nil, item.Refuse("Argument '%s' must be a boolean", a.name)
		}
		return flag, nil
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, item.Refuse("Argument '%s' must be a string", a.name)
	}
	return text, nil
}

// text returns a string; "" if it is absent.
func (a arguments) text(name string) string {
	text, _ := a[name].(string)
	return text
}

// optional returns a string; nil if it is absent.
func (a arguments) optional(name string) *string {
	if text, ok := a[name].(string); ok {
		return &text
	}
	return nil
}

// flag returns a boolean; false if it is absent.
func (a arguments) flag(name string) bool {
	flag, _ := a[name].(bool)
	return flag
}
