package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
)

// arguments decodes the arguments of a call, and keeps the first error.
type arguments struct {
	values map[string]json.RawMessage
	err    error
}

// readArguments parses the arguments of a call. It records an error for an argument that is not in known.
func readArguments(raw json.RawMessage, known []string) (*arguments, error) {
	a := &arguments{}
	if len(raw) > 0 && json.Unmarshal(raw, &a.values) != nil {
		return nil, fault.New(fault.InvalidArgument, "arguments must be an object")
	}
	var unknown []string
	for name := range a.values {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return a, nil
	}
	slices.Sort(unknown)
	takes := "none"
	if len(known) > 0 {
		takes = strings.Join(known, ", ")
	}
	return nil, fault.New(fault.InvalidArgument, "unknown argument %.60q; arguments are: %s", unknown[0], takes)
}

// decode decodes an argument and stores the value at the pointer into. It returns false if the argument is absent or
// invalid. The argument "what" describes the expected type, for errors.
func (a *arguments) decode(name, what string, into any) bool {
	raw, there := a.values[name]
	if !there {
		return false
	}
	if string(raw) == "null" || json.Unmarshal(raw, into) != nil {
		a.wrong("%s must be %s", name, what)
		return false
	}
	return true
}

func (a *arguments) wrong(format string, args ...any) {
	if a.err == nil {
		a.err = fault.New(fault.InvalidArgument, format, args...)
	}
}

// required records an error if the argument is missing.
func (a *arguments) required(name string) {
	if _, there := a.values[name]; !there {
		a.wrong("%s is required", name)
	}
}

// text returns the value of a required string argument.
func (a *arguments) text(name string) string {
	a.required(name)
	return a.textOr(name, "")
}

// textOr returns the value of a string argument, or absent if the argument is missing.
func (a *arguments) textOr(name, absent string) string {
	text := absent
	a.decode(name, "a string", &text)
	return text
}

// isNull reports whether an argument is null or missing.
func (a *arguments) isNull(name string) bool {
	raw, there := a.values[name]
	return !there || string(raw) == "null"
}

// nullText returns the value of a string argument; nil if the argument is null or missing.
func (a *arguments) nullText(name string) *string {
	var text string
	if a.isNull(name) || !a.decode(name, "a string or null", &text) {
		return nil
	}
	return &text
}

// flag returns the value of a boolean argument; false if the argument is missing.
func (a *arguments) flag(name string) bool {
	var flag bool
	a.decode(name, "true or false", &flag)
	return flag
}

// integer returns the value of an integer argument, or absent if the argument is missing. A number such as 10.0 counts
// as an integer.
func (a *arguments) integer(name string, absent int) int {
	var number float64
	switch {
	case !a.decode(name, "an integer", &number):
	case number != float64(int32(number)):
		a.wrong("%s must be an integer of at most 32 bits", name)
	default:
		return int(number)
	}
	return absent
}

// texts returns the value of a required argument that is a list of strings.
func (a *arguments) texts(name string) []string {
	a.required(name)
	var raw []json.RawMessage
	a.decode(name, "a list of strings", &raw)
	texts := make([]string, len(raw))
	for i, item := range raw {
		if bytes.Equal(item, []byte("null")) || json.Unmarshal(item, &texts[i]) != nil {
			a.wrong("%s must be a list of strings", name)
		}
	}
	return texts
}

// nullTexts returns the value of an argument that is a list of strings; nil if the argument is null or missing.
func (a *arguments) nullTexts(name string) []string {
	if a.isNull(name) {
		return nil
	}
	return a.texts(name)
}
