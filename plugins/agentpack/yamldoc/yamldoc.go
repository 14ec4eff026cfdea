// Package yamldoc parses YAML strictly and within limits. Parse parses a document, and ParseFrontMatter parses the
// front matter of a Markdown file. A value of the wrong type is an error that names the location of the value. Only
// true and false are booleans; other words, such as yes, are strings.
package yamldoc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxDepth is the maximum nesting depth of lists and maps. maxNodes is the maximum number of keys and items that may be
// read from a document, because an alias of a few bytes can expand to thousands of keys and items.
const (
	maxDepth = 64
	maxNodes = 1_000_000
)

// Value is a node of a document together with the location of the node. The zero Value is absent.
type Value struct {
	node   *frontmatter.Node
	path   string
	budget *int // number of keys and items that may still be read; all values of a document share it
}

// spend subtracts count from the budget of the document. It returns an error if the budget becomes negative.
func (v Value) spend(count int) error {
	if *v.budget -= count; *v.budget < 0 {
		return v.Errorf("the document has more than %d keys and items, including the expansion of aliases", maxNodes)
	}
	return nil
}

// Parse parses text, which must contain exactly one document. For an empty document it returns an absent value.
func Parse(text []byte) (Value, error) {
	root, err := frontmatter.Parse(acceptVersion(string(text)), frontmatter.Options{Depth: maxDepth, Aliases: true, WithoutComments: true})
	if err != nil {
		return Value{}, err
	}
	left := maxNodes
	return Value{node: root, budget: &left}, nil
}

// acceptVersion replaces the directive %YAML 1.2, which the parser refuses, by %YAML 1.1. The result of the parser does
// not depend on this directive.
func acceptVersion(text string) string {
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		rest, ok := strings.CutPrefix(line, "%YAML")
		switch {
		case ok && strings.HasPrefix(strings.TrimLeft(rest, " \t"), "1.2"):
			end := at + len(line) - len(strings.TrimLeft(rest, " \t"))
			return text[:end] + "1.1" + text[end+len("1.2"):]
		case line != "" && line[0] != '%' && line[0] != '#' && strings.TrimSpace(line) != "":
			return text
		}
		at += len(line) + 1
	}
	return text
}

// IsAbsent reports whether the value is null or the key of the value does not exist.
func (v Value) IsAbsent() bool { return v.node.Resolve().IsNull() }

// IsMissing reports whether the key of the value does not exist.
func (v Value) IsMissing() bool { return v.node == nil }

// isBlank reports whether the key does not exist or has no value. A blank value counts as an empty list or map.
func (v Value) isBlank() bool {
	node := v.node.Resolve()
	return node == nil || v.IsAbsent() && node.Style == frontmatter.Plain && node.Text == ""
}

// tag returns the type of a node. A date is a string, and so is a number with underscores or leading zeros, which is a
// number only in YAML 1.1.
func tag(node *frontmatter.Node) string {
	found := node.Tag12()
	if node == nil || node.Tag != "" {
		return found
	}
	digits := strings.TrimLeft(node.Text, "+-")
	legacy := strings.Contains(digits, "_") || len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' && !strings.Contains(digits, ".")
	if found == "!!timestamp" || (found == "!!int" || found == "!!float") && legacy {
		return "!!str"
	}
	return found
}

// Errorf returns an error with the location of the value.
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

// MissingKey returns an absent value with the location at which the key is missing.
func (v Value) MissingKey(key string) Value { return Value{path: join(v.path, key)} }

// Describe returns a description of the value's type for messages.
func (v Value) Describe() string {
	node := v.node.Resolve()
	switch {
	case v.IsAbsent():
		return "nothing"
	case node.Kind == frontmatter.Mapping:
		return "a map"
	case node.Kind == frontmatter.Sequence:
		return "a list"
	}
	switch tag(node) {
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	case "!!str":
		return fmt.Sprintf("the string %.80q", node.Text)
	}
	return "a value of the type " + tag(node)
}

// IsMap reports whether the value is a map.
func (v Value) IsMap() bool {
	node := v.node.Resolve()
	return node != nil && node.Kind == frontmatter.Mapping
}

// Field is a key of a map together with the value of the key.
type Field struct {
	Key   string
	Value Value
}

// Fields returns the keys and values of a map in the order of the file. A blank value has no fields. Duplicate keys,
// and keys that are not scalars, are errors.
func (v Value) Fields() ([]Field, error) {
	if v.isBlank() {
		return nil, nil
	}
	node := v.node.Resolve()
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
		text, err := key.AsText()
		if err != nil {
			return nil, fmt.Errorf("a key is invalid: %w", err)
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

// Items returns the items of a list. A blank value has no items.
func (v Value) Items() ([]Value, error) {
	if v.isBlank() {
		return nil, nil
	}
	node := v.node.Resolve()
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

// AsString returns the value, which must be a string. A number or boolean is an error.
func (v Value) AsString() (string, error) {
	node := v.node.Resolve()
	if node == nil || node.Kind != frontmatter.Scalar || tag(node) != "!!str" {
		return "", v.typeError("a string")
	}
	return node.Text, nil
}

// AsText returns the characters of any scalar as a string, even those of 1.0, 2026-01-01, true and ~. It is for keys
// whose value is always a string.
func (v Value) AsText() (string, error) {
	node := v.node.Resolve()
	if node == nil || node.Kind != frontmatter.Scalar {
		return "", v.typeError("a string")
	}
	return node.Text, nil
}

// AsTexts returns the result of AsText for each item of a list. A blank value has no items.
func (v Value) AsTexts() ([]string, error) {
	items, err := v.Items()
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, item := range items {
		text, err := item.AsText()
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// AsBool returns the value, which must be a boolean.
func (v Value) AsBool() (bool, error) {
	node := v.node.Resolve()
	if node == nil || node.Kind != frontmatter.Scalar || tag(node) != "!!bool" {
		return false, v.typeError("true or false")
	}
	return strconv.ParseBool(node.Text)
}

// AsUnsigned returns the value, which must be an integer from 0 to 4294967295.
func (v Value) AsUnsigned() (uint64, error) {
	node := v.node.Resolve()
	if node == nil || node.Kind != frontmatter.Scalar || tag(node) != "!!int" {
		return 0, v.typeError("an integer")
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(node.Text, "+"), 0, 32)
	if err != nil {
		return 0, v.typeError("an integer from 0 to 4294967295")
	}
	return number, nil
}
