package frontmatter

import (
	"errors"
	"fmt"
)

// String returns a scalar that reads back as a string under YAML 1.2: plain, or in single quotes if the plain text
// would be a number, a boolean, a date or null.
func String(text string) *Node {
	n := &Node{Text: text}
	if n.Tag12() != "!!str" {
		n.Style = SingleQuoted
	}
	return n
}

// maxEncodeDepth is the library's limit for the nesting of a tree that it encodes. Encode parses its result with this
// limit, because root may be nested deeper than Parse allows.
const maxEncodeDepth = 10_000

// Encode returns the YAML of a tree, "" for nil: each node in its style, with its comments, two columns for a level,
// and no folded lines. A scalar that its style cannot represent is written in a different style. Not every tree can be
// written as YAML, so Encode parses its result, and returns an error unless the parsed tree is [Equal] to root.
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
