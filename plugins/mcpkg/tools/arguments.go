package tools

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// argument describes an argument of a tool.
type argument struct {
	name     string
	required bool
	flag     bool // the argument is a boolean; otherwise it is a string
}

// arguments maps the name of each argument of a call to its value.
type arguments map[string]any

// parse decodes the arguments of a call. An argument that is null counts as absent, and parse ignores unknown
// arguments. A value that is not a JSON object has no arguments.
func parse(raw json.RawMessage, takes []argument) (arguments, error) {
	sent := map[string][]byte{}
	if rawjson.ScanObject(raw, func(name, value []byte) { sent[string(name)] = value }) != nil {
		clear(sent)
	}
	given := arguments{}
	for _, a := range takes {
		value := sent[a.name]
		switch kind := rawjson.Kind(value); {
		case (value == nil || kind == 'n') && a.required:
			return nil, item.Refuse("Missing required argument '%s'", a.name)
		case value == nil || kind == 'n':
		case a.flag && kind != 't':
			return nil, item.Refuse("Argument '%s' must be a boolean", a.name)
		case a.flag:
			given[a.name] = string(value) == "true"
		case kind != '"':
			return nil, item.Refuse("Argument '%s' must be a string", a.name)
		default:
			given[a.name], _ = rawjson.Unquote(value) // ScanObject has validated the string
		}
	}
	return given, nil
}

// text returns the value of a string argument; "" if the argument is absent.
func (a arguments) text(name string) string {
	text, _ := a[name].(string)
	return text
}

// optional returns a pointer to the value of a string argument; nil if the argument is absent.
func (a arguments) optional(name string) *string {
	if text, ok := a[name].(string); ok {
		return &text
	}
	return nil
}

// flag returns the value of a boolean argument; false if the argument is absent.
func (a arguments) flag(name string) bool {
	flag, _ := a[name].(bool)
	return flag
}
