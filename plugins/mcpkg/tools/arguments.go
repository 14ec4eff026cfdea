package tools

import (
	"encoding/json"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/jsontext"
)

// argument describes an argument of a tool.
type argument struct {
	name     string
	required bool
	flag     bool // a boolean; otherwise a string
}

// arguments holds the arguments of a call by name.
type arguments map[string]any

// parse decodes a call's arguments. Null counts as absent, and unknown arguments are ignored.
func parse(raw json.RawMessage, takes []argument) (arguments, error) {
	sent := read(string(raw), takes)
	given := arguments{}
	for _, a := range takes {
		value := sent[a.name]
		_, isText := value.(string)
		_, isFlag := value.(bool)
		switch {
		case value == nil && a.required:
			return nil, item.Refuse("Missing required argument '%s'", a.name)
		case value == nil:
			continue
		case a.flag && !isFlag:
			return nil, item.Refuse("Argument '%s' must be a boolean", a.name)
		case !a.flag && !isText:
			return nil, item.Refuse("Argument '%s' must be a string", a.name)
		}
		given[a.name] = value
	}
	return given, nil
}

// other stands for a value that is neither a string nor a boolean.
type other struct{}

// read returns the values of the arguments that a tool takes, each a string, a boolean, nil for null, or other. If raw
// is not a JSON object, there are no arguments.
func read(raw string, takes []argument) map[string]any {
	sent := map[string]any{}
	r := jsontext.New(raw)
	if len(raw) == 0 || r.Kind() != "an object" {
		return sent
	}
	r.Object(func(name string) {
		kind := r.Kind()
		switch {
		case !slices.ContainsFunc(takes, func(a argument) bool { return a.name == name }):
			r.Skip()
		case kind == "a string":
			sent[name] = r.Text()
		case kind == "a boolean":
			sent[name] = r.Literal() == "true"
		case kind == "null":
			r.Skip()
			sent[name] = nil
		default:
			r.Skip()
			sent[name] = other{}
		}
	})
	if r.End() != nil {
		return nil
	}
	return sent
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
