package frontmatter

import (
	"fmt"
	"iter"
	"slices"
)

// Kind is the kind of a node: scalar, sequence, mapping or alias.
type Kind uint8

// Values of Kind.
const (
	Scalar Kind = iota
	Sequence
	Mapping
	Alias
)

// Style is the notation of a node.
type Style uint8

// Values of Style. Plain is a scalar without quotes, or a sequence or mapping in block style. Flow is a sequence or mapping in brackets or
// braces.
const (
	Plain Style = iota
	SingleQuoted
	DoubleQuoted
	Literal
	Folded
	Flow
)

// Node is one value of a document. Callers may change the tree. A nil Node is an absent value.
type Node struct {
	Kind  Kind
	Style Style

	Tag      string    // tag of the node in the file, in short form if it is a standard tag (!!str, !local); empty if there is none
	Text     string    // text of the scalar without quotes and escapes; for an alias, the name of the anchor
	Anchor   string    // name by which aliases refer to this node; empty if there is none
	Target   *Node     // for an alias: the node to which it refers; that node may contain the alias
	Children []*Node   // items of a sequence; keys and values of a mapping, alternately
	Comments *Comments // comments that belong to the node; nil if there are none

	Line, Column int // position of the node's first character, from 1; 0 for a node that was not parsed
}

// Comments are the comments that belong to a node, including their number signs. If a blank line separates a comment from the first or last
// node of the document, the comment belongs to no node and is dropped.
type Comments struct {
	Head string // comment in the lines above the node
	Line string // comment at the end of the node's line
	Foot string // comment in the lines below the node, before a blank line
}

// Resolve returns the node to which the alias n refers, which is never an alias in a tree that Parse has returned. If n is not an alias,
// Resolve returns n.
func (n *Node) Resolve() *Node {
	if n != nil && n.Kind == Alias {
		return n.Target
	}
	return n
}

// IsNull reports whether n is absent, or is null by the rules of YAML 1.2: ~, null, or a key without a value.
func (n *Node) IsNull() bool {
	return n == nil || n.Kind == Scalar && n.Tag12() == "!!null"
}

// Pairs returns the keys and values of a mapping, in the file's order. For a node of another kind it yields nothing.
func (n *Node) Pairs() iter.Seq2[*Node, *Node] {
	return func(yield func(key, value *Node) bool) {
		if n == nil || n.Kind != Mapping {
			return
		}
		for i := 0; i+1 < len(n.Children); i += 2 {
			if !yield(n.Children[i], n.Children[i+1]) {
				return
			}
		}
	}
}

// Get returns the value of the first key in the mapping n whose text is key; nil if there is none.
func (n *Node) Get(key string) *Node {
	for name, value := range n.Pairs() {
		if name.Kind == Scalar && name.Text == key {
			return value
		}
	}
	return nil
}

// linearKeys is the number of keys up to which keys are compared pairwise. For so few keys, that is faster than a map.
const linearKeys = 16

// CheckKeys returns an *Error if n is not a mapping, if a key is not a scalar, or if two keys have the same text. It does not check mappings
// inside n.
func (n *Node) CheckKeys() error {
	if n == nil {
		return &Error{Reason: "expected a mapping"}
	}
	if n.Kind != Mapping {
		return n.errorf("expected a mapping")
	}
	var seen map[string]bool
	if len(n.Children) > 2*linearKeys {
		seen = make(map[string]bool, len(n.Children)/2)
	}
	for i := 0; i < len(n.Children); i += 2 {
		key := n.Children[i]
		if key.Kind != Scalar {
			return key.errorf("a key of a mapping is not a scalar")
		}
		duplicate := seen[key.Text]
		if seen != nil {
			seen[key.Text] = true
		} else {
			duplicate = isDuplicate(n.Children[:i], key.Text)
		}
		if duplicate {
			return key.errorf("duplicate key %q", key.Text)
		}
	}
	return nil
}

func isDuplicate(pairs []*Node, text string) bool {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].Text == text {
			return true
		}
	}
	return false
}

// Equal reports whether two trees have the same structure and the same texts, and the same tags according to Tag12. Styles, comments and
// positions may differ. Two aliases are equal if they have the same name.
func Equal(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Text == b.Text && a.Anchor == b.Anchor && (a.Kind == Alias || a.Tag12() == b.Tag12()) &&
		slices.EqualFunc(a.Children, b.Children, Equal)
}

func (n *Node) errorf(format string, args ...any) *Error {
	return &Error{Line: n.Line, Column: n.Column, Reason: fmt.Sprintf(format, args...)}
}
