// Package arguments parses the arguments of tools, and describes invalid ones in the words of zod, the library with which
// the reference server validates. Start with Object and Parse.
package arguments

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Shape describes values of JSON. The zero value describes strings.
type Shape struct {
	members  []Member
	elements *Shape
}

// Member is a required member of an object.
type Member struct {
	Name  string
	Shape Shape
}

// Object describes objects with these members. Other members are ignored.
func Object(members ...Member) Shape { return Shape{members: append([]Member{}, members...)} }

// List describes arrays.
func List(elements Shape) Shape { return Shape{elements: &elements} }

// Value is a parsed value. The field for its shape is set.
type Value struct {
	Text    string
	List    []Value
	Members map[string]Value
}

// Texts returns the elements of a list of strings.
func (v Value) Texts() []string { return Each(v, func(e Value) string { return e.Text }) }

// Each converts the elements of a list.
func Each[T any](list Value, convert func(Value) T) []T {
	all := make([]T, len(list.List))
	for i, element := range list.List {
		all[i] = convert(element)
	}
	return all
}

// Parse returns an argument of a call of the tool called tool. raw has the arguments, and is nil if there are none.
func Parse(tool string, raw []byte, argument string, s Shape) (Value, error) {
	p := &parser{}
	value := p.parse(s, rawjson.Member(raw, argument), argument)
	switch {
	case p.values > maxValues:
		return Value{}, fmt.Errorf("%s has more than %d values: make several calls", argument, maxValues)
	case p.count == 0:
		return value, nil
	}
	if p.count > maxProblems {
		p.problems = append(p.problems, fmt.Sprintf("and %d more problems", p.count-maxProblems))
	}
	return Value{}, fmt.Errorf("MCP error -32602: Input validation error: Invalid arguments for tool %s: %s", tool, strings.Join(p.problems, "\n"))
}

const (
	maxProblems = 100     // that an error describes
	maxValues   = 200_000 // of an argument; the answer has no more, and the host can check it
)

type parser struct {
	problems []string
	count    int // of all problems
	values   int
}

func (p *parser) parse(s Shape, raw []byte, path string) Value {
	kind := rawjson.Kind(raw)
	if p.values++; p.values > maxValues {
		return Value{}
	}
	switch {
	case kind != s.kind():
		if p.count++; p.count <= maxProblems {
			p.problems = append(p.problems, fmt.Sprintf("Invalid input: expected %s, received %s at %s", kinds[s.kind()], kinds[kind], path))
		}
		return Value{}
	case s.elements != nil:
		value := Value{List: []Value{}}
		for i, element := range rawjson.Elements(raw) {
			value.List = append(value.List, p.parse(*s.elements, element, fmt.Sprintf("%s[%d]", path, i)))
		}
		return value
	case s.members != nil:
		given, value := map[string][]byte{}, Value{Members: map[string]Value{}}
		for name, member := range rawjson.Members(raw) {
			given[name] = member
		}
		for _, m := range s.members {
			value.Members[m.Name] = p.parse(m.Shape, given[m.Name], path+"."+m.Name)
		}
		return value
	}
	text, _ := rawjson.Unquote(raw) // the host has validated the string
	return Value{Text: text}
}

// kinds has the names of the kinds of values that rawjson.Kind returns.
var kinds = map[byte]string{0: "undefined", 'n': "null", 't': "boolean", '0': "number", '"': "string", '[': "array", '{': "object"}

func (s Shape) kind() byte {
	switch {
	case s.elements != nil:
		return '['
	case s.members != nil:
		return '{'
	}
	return '"'
}
