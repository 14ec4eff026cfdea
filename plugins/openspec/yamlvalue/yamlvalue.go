// Package yamlvalue parses a YAML file to values of the types of JSON, by the core schema of YAML 1.2.
//
//	root, err := yamlvalue.Parse(source)
//	name := root.Get("name")
//	if name.Kind() == yamlvalue.String { … name.Text() … }
//
// Files are untrusted. So the package bounds size and depth, and follows an alias only when the value of the alias is
// needed.
package yamlvalue

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// MaxSize is the maximum size of a file, in bytes.
const MaxSize = 256 << 10

// maxDepth is the maximum nesting depth of lists and maps.
const maxDepth = 32

// ErrSyntax means that a file is not valid YAML.
var ErrSyntax = errors.New("the file is not valid YAML")

// The kinds of values. Messages contain these strings.
const (
	Absent = "undefined"
	Null   = "null"
	String = "string"
	Number = "number"
	Bool   = "boolean"
	List   = "array"
	Map    = "object"
)

// Value is a value in a file. The zero Value stands for an absent value.
type Value struct{ node *frontmatter.Node }

// Parse returns the only value of a file, which is null if the file is empty. It returns an error for invalid YAML,
// duplicate keys and a second document.
func Parse(source string) (Value, error) {
	if len(source) > MaxSize {
		return Value{}, fmt.Errorf("the file is larger than %d KiB", MaxSize>>10)
	}
	root, err := frontmatter.Parse(strings.TrimPrefix(source, "\uFEFF"), frontmatter.Options{Depth: maxDepth, Aliases: true, WithoutComments: true})
	if err != nil {
		return Value{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if root == nil {
		root = &frontmatter.Node{}
	}
	if err := uniqueKeys(root); err != nil {
		return Value{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return Value{root}, nil
}

func uniqueKeys(n *frontmatter.Node) error {
	if n.Kind == frontmatter.Mapping {
		if err := n.CheckKeys(); err != nil {
			return err
		}
	}
	for _, child := range n.Children {
		if err := uniqueKeys(child); err != nil {
			return err
		}
	}
	return nil
}

// The forms of plain scalars that are not strings.
var (
	nullForm   = regexp.MustCompile(`^(?:~|null|Null|NULL)?$`)
	boolForm   = regexp.MustCompile(`^(?:[Tt]rue|TRUE|[Ff]alse|FALSE)$`)
	numberForm = regexp.MustCompile(`^(?:0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN)$`)
)

// special contains the characters with which a plain scalar must begin so that it may be something other than a string.
const special = "~nNtTfF+-.0123456789"

// isDate reports whether text begins like a date.
func isDate(text string) bool {
	return len(text) > len("2006-") && text[4] == '-' && '0' <= text[3] && text[3] <= '9'
}

// Kind returns the type of a value.
func (v Value) Kind() string {
	n := v.node.Resolve()
	switch {
	case n == nil:
		return Absent
	case n.Kind == frontmatter.Mapping:
		return Map
	case n.Kind == frontmatter.Sequence:
		return List
	}
	switch n.Tag {
	case "!!str":
		return String
	case "!!bool":
		return Bool
	case "!!int", "!!float":
		return Number
	case "!!null":
		return Null
	}
	if n.Style != frontmatter.Plain {
		return String
	}
	return KindOfPlain(n.Text)
}

// KindOfPlain returns the type of a plain scalar.
func KindOfPlain(text string) string {
	if text != "" && strings.IndexByte(special, text[0]) < 0 || isDate(text) {
		return String // this test avoids the regular expressions below, which would take most of the time for a file
	}
	switch {
	case nullForm.MatchString(text):
		return Null
	case boolForm.MatchString(text):
		return Bool
	case numberForm.MatchString(text):
		return Number
	}
	return String
}

// Text returns the text of a string or a number; "" for a value of another kind.
func (v Value) Text() string {
	if kind := v.Kind(); kind != String && kind != Number {
		return ""
	}
	return v.node.Resolve().Text
}

// IsTrue reports whether the value is the boolean true.
func (v Value) IsTrue() bool {
	return v.Kind() == Bool && strings.EqualFold(v.node.Resolve().Text, "true")
}

// IsFalse reports whether the value is the boolean false.
func (v Value) IsFalse() bool { return v.Kind() == Bool && !v.IsTrue() }

// Get returns the value of a key in a map. It returns an absent value if the map does not have the key, and for a value
// of another kind.
func (v Value) Get(key string) Value {
	if v.Kind() != Map {
		return Value{}
	}
	return Value{v.node.Resolve().Get(key)}
}

// Pairs returns the keys and values of a map, in the order of the file; none for a value of another kind.
func (v Value) Pairs() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for key, value := range v.node.Resolve().Pairs() {
			if !yield(key.Text, Value{value}) {
				return
			}
		}
	}
}

// Items returns the items of a list; none for a value of another kind.
func (v Value) Items() []Value {
	if v.Kind() != List {
		return nil
	}
	children := v.node.Resolve().Children
	items := make([]Value, len(children))
	for i, child := range children {
		items[i] = Value{child}
	}
	return items
}

// Strings returns the items of a list of strings; ok is false for any other value.
func (v Value) Strings() (list []string, ok bool) {
	for _, item := range v.Items() {
		if item.Kind() != String {
			return nil, false
		}
		list = append(list, item.Text())
	}
	return list, v.Kind() == List
}

// Want returns the message that says that the value does not have the required kind.
func (v Value) Want(kind string) string {
	return fmt.Sprintf("Invalid input: expected %s, received %s", kind, v.Kind())
}
