// Package yamldoc reads YAML strictly and with limits: Parse for a document, ParseFrontMatter for the front
// matter of a Markdown file. A value of the wrong type is an error that names its location. Booleans are true
// and false; other words, such as yes, are strings.
package yamldoc

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxDepth limits the nesting of lists and maps, and maxNodes how many keys and items are read of a document,
// because an alias takes a few bytes and can expand to thousands of them.
const (
	maxDepth = 64
	maxNodes = 1_000_000
)

// Value is a node of a document with its location; the zero Value is absent.
type Value struct {
	node   *frontmatter.Node
	path   string
	budget *int // keys and items that may still be read
}

// spend subtracts from the budget of the document.
func (v Value) spend(count int) error {
	if *v.budget -= count; *v.budget < 0 {
		return v.Errorf("the document has more than %d keys and items, aliases followed", maxNodes)
	}
	return nil
}

// Parse reads exactly one document; an empty one is an absent value.
func Parse(text []byte) (Value, error) {
	root, err := frontmatter.Parse(string(text), frontmatter.Options{Depth: maxDepth, Aliases: true})
	if err != nil {
		return Value{}, err
	}
	left := maxNodes
	return Value{node: root, budget: &left}, nil
}

// resolve follows an alias.
func (v Value) resolve() *frontmatter.Node {
	node := v.node
	if node != nil && node.Kind == frontmatter.Alias {
		node = node.Target
	}
	return node
}

// IsAbsent reports whether the value is null or its key does not exist.
func (v Value) IsAbsent() bool { return v.resolve().IsNull() }

// Errorf returns an error with the value's location.
func (v Value) Errorf(format string, arguments ...any) error {
	text := fmt.Sprintf(format, arguments...)
	if v.path != "" {
		text = v.path + ": " + text
	}
	if v.node != nil && v.node.Line > 0 {
		text = fmt.Sprintf("line %d: %s", v.node.Line, text)
	}
	return errors.New(text)
}

func (v Value) typeError(want string) error {
	return v.Errorf("expected %s, got %s", want, v.Describe())
}

// MissingKey returns an absent value with the location of a key.
func (v Value) MissingKey(key string) Value { return Value{path: join(v.path, key)} }

// Describe returns the kind of the value, for messages.
func (v Value) Describe() string {
	node := v.resolve()
	switch {
	case v.IsAbsent():
		return "nothing"
	case node.Kind == frontmatter.Mapping:
		return "a map"
	case node.Kind == frontmatter.Sequence:
		return "a list"
	}
	switch node.Tag12() {
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	case "!!str":
		return fmt.Sprintf("the string %.80q", node.Text)
	}
	return "a value of the type " + node.Tag12()
}

// IsMap reports whether the value is a map.
func (v Value) IsMap() bool {
	node := v.resolve()
	return node != nil && node.Kind == frontmatter.Mapping
}

// IsList reports whether the value is a list.
func (v Value) IsList() bool {
	node := v.resolve()
	return node != nil && node.Kind == frontmatter.Sequence
}

// Field is a key of a map with its value.
type Field struct {
	Key   string
	Value Value
}

// Fields returns the keys of a map in file order; none if it is absent. Duplicate keys and keys that are not
// strings are errors.
func (v Value) Fields() ([]Field, error) {
	if v.IsAbsent() {
		return nil, nil
	}
	node := v.resolve()
	if node.Kind != frontmatter.Mapping {
		return nil, v.typeError("a map")
	}
	if err := v.spend(len(node.Children) / 2); err != nil {
		return nil, err
	}
	fields := make([]Field, 0, len(node.Children)/2)
	seen := make(map[string]bool, len(node.Children)/2)
	for i := 0; i+1 < len(node.Children); i += 2 {
		key := Value{node.Children[i], v.path, v.budget}
		text, err := key.AsString()
		if err != nil {
			return nil, fmt.Errorf("a key: %w", err)
		}
		if seen[text] {
			return nil, key.Errorf("duplicate key %q", text)
		}
		seen[text] = true
		fields = append(fields, Field{text, Value{node.Children[i+1], join(v.path, text), v.budget}})
	}
	return fields, nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Items returns the values of a list; none if it is absent.
func (v Value) Items() ([]Value, error) {
	if v.IsAbsent() {
		return nil, nil
	}
	node := v.resolve()
	if node.Kind != frontmatter.Sequence {
		return nil, v.typeError("a list")
	}
	if err := v.spend(len(node.Children)); err != nil {
		return nil, err
	}
	items := make([]Value, len(node.Children))
	for i, item := range node.Children {
		items[i] = Value{item, fmt.Sprintf("%s[%d]", v.path, i), v.budget}
	}
	return items, nil
}

// AsString returns a string. Numbers and booleans are errors.
func (v Value) AsString() (string, error) {
	node := v.resolve()
	if node == nil || node.Kind != frontmatter.Scalar || node.Tag12() != "!!str" {
		return "", v.typeError("a string")
	}
	return node.Text, nil
}

// AsStrings returns a list of strings; none if it is absent.
func (v Value) AsStrings() ([]string, error) {
	items, err := v.Items()
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, item := range items {
		text, err := item.AsString()
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// AsBool returns a boolean.
func (v Value) AsBool() (bool, error) {
	node := v.resolve()
	if node == nil || node.Kind != frontmatter.Scalar || node.Tag12() != "!!bool" {
		return false, v.typeError("true or false")
	}
	return strconv.ParseBool(node.Text)
}

// AsUnsigned returns a non-negative integer.
func (v Value) AsUnsigned() (uint64, error) {
	node := v.resolve()
	if node == nil || node.Kind != frontmatter.Scalar || node.Tag12() != "!!int" {
		return 0, v.typeError("an integer")
	}
	number, err := strconv.ParseUint(node.Text, 0, 64)
	if err != nil {
		return 0, v.typeError("a non-negative integer")
	}
	return number, nil
}
