package frontmatter

import (
	"errors"
	"fmt"
)

// String returns a scalar that YAML 1.2 reads back as the string text. It is plain, or in single quotes if the plain form would be a number, a
// boolean, a date or null.
func String(text string) *Node {
	n := &Node{Text: text}
	if n.Tag12() != "!!str" {
		n.Style = SingleQuoted
	}
	return n
}

// maxEncodeDepth is the library's limit for the nesting of a tree that it encodes. Encode parses its own result with this limit, because root
// may be nested deeper than Parse allows by default.
const maxEncodeDepth = 10_000

// Encode returns the YAML of a tree; empty if root is nil. Each node has its style and its comments, each level is indented by two columns,
// and no line is folded. A scalar that its style cannot represent is written in a different style. Not every tree can be written as YAML,
// so Encode parses its result, and returns an error unless the parsed tree is [Equal] to root.
func Encode(root *Node) (string, error) {
	if root == nil {
		return "", nil
	}
	text, err := dump(root)
	if err != nil {
		return "", err
	}
	again, err := Parse(text, Options{Depth: maxEncodeDepth, Aliases: true})
	if err != nil {
		return "", fmt.Errorf("the encoded YAML cannot be parsed: %w", err)
	}
	if !Equal(root, again) {
		return "", errors.New("the values cannot be written as YAML: the encoded text parses to different values; use simpler keys or values")
	}
	return text, nil
}
