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
	flag     bool // the argument is a boolean; otherwise it is a string
}

// arguments maps the name of each argument of a call to its value.
type arguments map[string]any

// parse decodes the arguments of a call. An argument that is null counts as absent, and parse ignores unknown
// arguments.
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

// other stands for the value of an argument that is neither a string nor a boolean.
type other struct{}

// read returns the values of the arguments in takes, each a string, a boolean, nil for null, or other. If raw is not a
// JSON object, read returns an empty map.
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
