// Package command maps calls of tools to runs of a program: Tools.Input returns the arguments and the standard input of a call, and
// Tool.Response converts what the program printed, and its exit code, to a response of ABI 1.
//
// No shell is involved: an item of the manifest decides how many words a value becomes. A value never becomes an option: a value
// that begins with "-" is refused, unless the item allows it. The package runs nothing. Calls and outputs are untrusted, and are
// converted in bounded memory.
package command

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Tools maps the names in the manifest to the tools of a plugin.
type Tools map[string]Tool

// Tool is how calls of a tool run the program. The zero value runs it without arguments.
type Tool struct {
	Args    []Item   `json:"args,omitempty"`
	Stdin   *Item    `json:"stdin,omitempty"`   // its value is the standard input; nil: the input is empty
	Stdout  Format   `json:"stdout,omitempty"`  // the format of the standard output
	Success []uint32 `json:"success,omitempty"` // exit codes that are no error; empty: only 0
}

// Item is one item of a tool's arguments: a literal word, or the value of an argument of the call.
type Item struct {
	Literal string `json:"literal,omitempty"` // the word; used if Arg is empty
	Arg     string `json:"arg,omitempty"`     // name of the argument
	Type    Type   `json:"type,omitempty"`    // type of the argument, or of its items if it is an array
	// Flag precedes each value: as a word of its own, or joined with the value if Flag ends with "=". For a boolean, Flag is the word
	// that stands for true.
	Flag string `json:"flag,omitempty"`
	// Choose has the words for each value. If it is set, the value itself is not passed.
	Choose map[string][]string `json:"choose,omitempty"`
	// Dash allows values that begin with "-". Set it only if the program cannot take them for options.
	Dash    bool            `json:"dash,omitempty"`
	Default json.RawMessage `json:"default,omitempty"` // value if the call has none; nil: the item is left out
}

// Type is the type of an argument in its JSON Schema.
type Type string

// The types of values that can become words.
const (
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
)

// Format is a format of the standard output.
type Format string

// The formats. The zero value means Text.
const (
	Text  Format = "text"       // text, which becomes text content
	JSON  Format = "json"       // one JSON value, which becomes structured content
	Lines Format = "json-lines" // JSON values, one in each line
)

// Input is the input of one run of the program.
type Input struct {
	Args  []string // without the name of the program
	Stdin []byte
}

// Input returns the tool that a tools/call with these parameters names, and the program's input for the call. If refusal is not nil, the program
// must not run, and refusal is the response of ABI 1.
func (ts Tools) Input(params json.RawMessage) (tool Tool, input Input, refusal []byte) {
	var name string
	var arguments []byte
	for key, value := range rawjson.Members(params) {
		switch key {
		case "name":
			name, _ = rawjson.Unquote(value)
		case "arguments":
			arguments = value
		}
	}
	tool, ok := ts[name]
	if !ok {
		return tool, input, fail(abi.CodeInvalidParams, "unknown tool")
	}
	input, err := tool.input(arguments)
	if err != nil {
		return tool, input, bounded(math.MaxInt64, nil, true, []byte(err.Error()))
	}
	return tool, input, nil
}

// Describe returns the response to bulkhead/describe.
func (ts Tools) Describe() []byte {
	names := slices.AppendSeq([]string{}, maps.Keys(ts)) // not nil, which is null in JSON
	slices.Sort(names)
	body, _ := rawjson.Marshal(map[string]abi.Description{"result": {Tools: names}}) // strings always encode
	return body
}

// NoMethod returns the response to a method that commands do not have.
func NoMethod() []byte { return fail(abi.CodeMethodNotFound, "a command has only tools") }

func fail(code int, message string) []byte {
	body, _ := rawjson.Marshal(map[string]abi.Error{"error": {Code: code, Message: message}}) // strings always encode
	return body
}
