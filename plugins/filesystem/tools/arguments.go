package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/edit"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// arguments reads the arguments of a call, and collects what is wrong with them in the words of the server that this plugin replaces.
type arguments struct {
	at     string // where the object is, for messages: empty, or a path such as edits[0]
	given  map[string][]byte
	issues *[]string
}

func parse(raw json.RawMessage) arguments {
	return arguments{"", membersOf(raw), &[]string{}}
}

func membersOf(object []byte) map[string][]byte {
	given := map[string][]byte{}
	if len(object) > 0 {
		for name, value := range rawjson.Members(object) {
			given[name] = value
		}
	}
	return given
}

// err returns the error of the call; nil if all arguments are valid.
func (a arguments) err(tool string) error {
	if len(*a.issues) == 0 {
		return nil
	}
	return errors.New("MCP error -32602: Input validation error: Invalid arguments for tool " + tool + ": " + strings.Join(*a.issues, "\n"))
}

func (a arguments) fault(where, format string, args ...any) {
	*a.issues = append(*a.issues, fmt.Sprintf(format, args...)+" at "+where)
}

// typeOf returns the name of the type of a JSON value, as JavaScript libraries call it.
func typeOf(value []byte) string {
	if len(value) == 0 {
		return "undefined"
	}
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// is reports whether a value has a type, and notes a fault if it has not.
func (a arguments) is(where, want string, value []byte) bool {
	got := typeOf(value)
	if got != want {
		a.fault(where, "Invalid input: expected %s, received %s", want, got)
	}
	return got == want
}

func (a arguments) place(name string) string {
	if a.at == "" {
		return name
	}
	return a.at + "." + name
}

func (a arguments) text(name string) string { return a.stringAt(a.place(name), a.given[name]) }

func (a arguments) stringAt(where string, value []byte) string {
	if !a.is(where, "string", value) {
		return ""
	}
	text, _ := rawjson.Unquote(value) // the host passes valid JSON
	return text
}

// number returns an optional number; 0 if it is absent.
func (a arguments) number(name string) (n float64) {
	if value := a.given[name]; value != nil && a.is(name, "number", value) {
		if err := json.Unmarshal(value, &n); err != nil {
			a.fault(name, "Invalid input: expected number, received %s", value)
		}
	}
	return n
}

// flag returns an optional boolean.
func (a arguments) flag(name string) bool {
	value := a.given[name]
	return value != nil && a.is(name, "boolean", value) && value[0] == 't'
}

// elements returns the elements of an array with their places.
func (a arguments) elements(name string) (places []string, values [][]byte) {
	if !a.is(name, "array", a.given[name]) {
		return nil, nil
	}
	for i, value := range rawjson.Elements(a.given[name]) {
		places, values = append(places, fmt.Sprintf("%s[%d]", name, i)), append(values, value)
	}
	return places, values
}

func (a arguments) texts(name string) []string {
	var all []string
	places, values := a.elements(name)
	for i, value := range values {
		all = append(all, a.stringAt(places[i], value))
	}
	return all
}

// optionalTexts returns an optional array of strings.
func (a arguments) optionalTexts(name string) []string {
	if a.given[name] == nil {
		return nil
	}
	return a.texts(name)
}

func (a arguments) paths(name string) []string {
	faults := len(*a.issues)
	all := a.texts(name)
	if len(all) == 0 && len(*a.issues) == faults {
		a.fault(name, "Too small: expected array to have >=1 items")
	}
	return all
}

func (a arguments) edits(name string) []edit.Edit {
	var all []edit.Edit
	places, values := a.elements(name)
	for i, value := range values {
		if a.is(places[i], "object", value) {
			one := arguments{places[i], membersOf(value), a.issues}
			all = append(all, edit.Edit{Old: one.text("oldText"), New: one.text("newText")})
		}
	}
	return all
}

// bySize returns whether the optional sort order is by size.
func (a arguments) bySize(name string) bool {
	value := a.given[name]
	order, _ := rawjson.Unquote(value)
	if value != nil && (value[0] != '"' || order != "name" && order != "size") {
		a.fault(name, `Invalid option: expected one of "name"|"size"`)
	}
	return order == "size"
}
