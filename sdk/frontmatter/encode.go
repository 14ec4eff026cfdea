package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// libraryStyles holds the library's name of each Style.
var libraryStyles = [...]yaml.Style{
	SingleQuoted: yaml.SingleQuotedStyle,
	DoubleQuoted: yaml.DoubleQuotedStyle,
	Literal:      yaml.LiteralStyle,
	Folded:       yaml.FoldedStyle,
	Flow:         yaml.FlowStyle,
}

var libraryKinds = [...]yaml.Kind{
	Scalar:   yaml.ScalarNode,
	Sequence: yaml.SequenceNode,
	Mapping:  yaml.MappingNode,
	Alias:    yaml.AliasNode,
}

// String returns a scalar that reads back as a string under YAML 1.2: plain, or in single quotes if the plain text
// would be a number, a boolean, a date or null.
func String(text string) *Node {
	n := &Node{Text: text}
	if n.Tag12() != "!!str" {
		n.Style = SingleQuoted
	}
	return n
}

// maxEncodeDepth is the library's own bound, which a tree that was built in memory may come near to.
const maxEncodeDepth = 10_000

// Encode returns the YAML of a tree, "" for nil: each node in its style, with its comments, two columns for a level,
// and no line folded. A scalar that its style cannot carry is written in another one. The YAML is parsed again, and the
// result is an error if that tree is not [Equal] to root: not every text can be written as YAML.
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
		return "", errors.New("the encoded YAML has a different meaning")
	}
	return text, nil
}

func dump(root *Node) (string, error) {
	var out strings.Builder
	dumper, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return "", err
	}
	if err := dumper.Dump(libraryNode(root)); err != nil {
		return "", err
	}
	if err := dumper.Close(); err != nil {
		return "", err
	}
	return out.String(), nil
}

func libraryNode(from *Node) *yaml.Node {
	to := &yaml.Node{
		Kind:   libraryKinds[from.Kind],
		Style:  libraryStyles[from.Style],
		Tag:    from.Tag,
		Value:  from.Text,
		Anchor: from.Anchor,
	}
	if to.Tag != "" && to.Tag != "!" {
		to.Style |= yaml.TaggedStyle
	}
	if comments := from.Comments; comments != nil {
		to.HeadComment, to.LineComment, to.FootComment = comments.Head, comments.Line, comments.Foot
	}
	for _, child := range from.Children {
		to.Content = append(to.Content, libraryNode(child))
	}
	return to
}
