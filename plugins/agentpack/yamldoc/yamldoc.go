// Package yamldoc reads one YAML document within bounds, strictly: what has another type than is asked for
// is an error that names its place. Booleans are true and false; words such as yes are texts.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// maxDepth bounds the nesting of lists and maps, and maxRead how many keys and items are read of a document. An
// alias costs a few bytes and can stand for thousands of them.
const (
	maxDepth = 64
	maxNodes = 1_000_000
)

// Value is a place in a document; the zero Value is an absent one.
type Value struct {
	node   *yaml.Node
	path   string
	budget *int // how many keys and items may still be read of the document
}

// spend counts what is read of the document.
func (v Value) spend(count int) error {
	if *v.budget -= count; *v.budget < 0 {
		return v.Errorf("the document has more than %d keys and items, aliases followed", maxNodes)
	}
	return nil
}

// Parse reads a text that holds one document; one that holds none is an absent value.
func Parse(text []byte) (Value, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text),
		yaml.WithV4Defaults(), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return Value{}, err
	}
	var document, second yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return Value{}, nil
	case err != nil:
		return Value{}, err
	}
	if err := loader.Load(&second); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("line %d: a second document begins; there may be only one", second.Line)
		}
		return Value{}, err
	}
	left := maxNodes
	return Value{node: document.Content[0], budget: &left}, nil
}

// resolve follows an alias to what it stands for.
func (v Value) resolve() *yaml.Node {
	node := v.node
	if node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// Absent tells whether there is nothing: no such key, or null.
func (v Value) IsAbsent() bool {
	node := v.resolve()
	return node == nil || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// Fault is an error about this place.
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

// Missing is the place of a key that a map does not have.
func (v Value) MissingKey(key string) Value { return Value{path: join(v.path, key)} }

// Describe says what kind of value this is.
func (v Value) Describe() string {
	node := v.resolve()
	switch {
	case v.IsAbsent():
		return "nothing"
	case node.Kind == yaml.MappingNode:
		return "a map"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	}
	switch node.ShortTag() {
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	case "!!str":
		return fmt.Sprintf("the text %.80q", node.Value)
	}
	return "a value of the type " + node.ShortTag()
}

// IsMap tells whether this is a map.
func (v Value) IsMap() bool { node := v.resolve(); return node != nil && node.Kind == yaml.MappingNode }

// IsList tells whether this is a list.
func (v Value) IsList() bool {
	node := v.resolve()
	return node != nil && node.Kind == yaml.SequenceNode
}

// Field is a key of a map with its value.
type Field struct {
	Key   string
	Value Value
}

// Fields returns the keys of a map, in the file's order; none of an absent one. Keys that are there twice
// or are no texts are errors.
func (v Value) Fields() ([]Field, error) {
	if v.IsAbsent() {
		return nil, nil
	}
	node := v.resolve()
	if node.Kind != yaml.MappingNode {
		return nil, v.typeError("a map")
	}
	if err := v.spend(len(node.Content) / 2); err != nil {
		return nil, err
	}
	fields := make([]Field, 0, len(node.Content)/2)
	seen := make(map[string]bool, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := Value{node.Content[i], v.path, v.budget}
		text, err := key.String()
		if err != nil {
			return nil, fmt.Errorf("a key: %w", err)
		}
		if seen[text] {
			return nil, key.Errorf("the key %q is there twice", text)
		}
		seen[text] = true
		fields = append(fields, Field{text, Value{node.Content[i+1], join(v.path, text), v.budget}})
	}
	return fields, nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Items returns the values of a list; none of an absent one.
func (v Value) Items() ([]Value, error) {
	if v.IsAbsent() {
		return nil, nil
	}
	node := v.resolve()
	if node.Kind != yaml.SequenceNode {
		return nil, v.typeError("a list")
	}
	if err := v.spend(len(node.Content)); err != nil {
		return nil, err
	}
	items := make([]Value, len(node.Content))
	for i, item := range node.Content {
		items[i] = Value{item, fmt.Sprintf("%s[%d]", v.path, i), v.budget}
	}
	return items, nil
}

// Text returns a text. A number or boolean is none.
func (v Value) String() (string, error) {
	node := v.resolve()
	if node == nil || node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		return "", v.typeError("a text")
	}
	return node.Value, nil
}

// Texts returns a list of texts; none of an absent one.
func (v Value) Strings() ([]string, error) {
	items, err := v.Items()
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, item := range items {
		text, err := item.String()
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// Bool returns true or false.
func (v Value) Bool() (bool, error) {
	node := v.resolve()
	if node == nil || node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
		return false, v.typeError("true or false")
	}
	return strconv.ParseBool(node.Value)
}

// Unsigned returns a whole number from 0 on.
func (v Value) Unsigned() (uint64, error) {
	node := v.resolve()
	if node == nil || node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" {
		return 0, v.typeError("a whole number")
	}
	number, err := strconv.ParseUint(node.Value, 0, 64)
	if err != nil {
		return 0, v.typeError("a whole number from 0 on")
	}
	return number, nil
}
