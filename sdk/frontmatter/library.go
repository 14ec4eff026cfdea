package frontmatter

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// libraryStyles maps each Style to the library's style.
var libraryStyles = [...]yaml.Style{
	SingleQuoted: yaml.SingleQuotedStyle,
	DoubleQuoted: yaml.DoubleQuotedStyle,
	Literal:      yaml.LiteralStyle,
	Folded:       yaml.FoldedStyle,
	Flow:         yaml.FlowStyle,
}

// libraryKinds maps each Kind to the library's kind.
var libraryKinds = [...]yaml.Kind{
	Scalar:   yaml.ScalarNode,
	Sequence: yaml.SequenceNode,
	Mapping:  yaml.MappingNode,
	Alias:    yaml.AliasNode,
}

// load parses text with the library.
func load(text string, options Options) (*Node, error) {
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(options.Depth))))
	if err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	var document, second yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err, options)
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxError(err, options)
	default:
		return nil, &Error{options.Line + second.Line - 1, second.Column, "a second document begins here; only one is allowed"}
	}
	return convert(document.Content[0], options)
}

func syntaxError(err error, options Options) *Error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return &Error{Reason: "invalid YAML: " + err.Error()}
	}
	return &Error{options.Line + max(0, load.Mark.Line-1), load.Mark.Column, "invalid YAML: " + load.Message}
}

// converter converts a tree of the library to Nodes. It allocates all nodes at once, and also all lists of children.
type converter struct {
	options  Options
	nodes    []Node
	children []*Node
	anchors  map[*yaml.Node]*Node
}

func convert(root *yaml.Node, options Options) (*Node, error) {
	count := countNodes(root)
	c := converter{options: options, nodes: make([]Node, 0, count), children: make([]*Node, count)}
	return c.convert(root)
}

func countNodes(n *yaml.Node) int {
	count := 1
	for _, child := range n.Content {
		count += countNodes(child)
	}
	return count
}

func (c *converter) convert(from *yaml.Node) (*Node, error) {
	c.nodes = append(c.nodes, Node{
		Kind:   kindOf(from),
		Style:  styleOf(from),
		Text:   from.Value,
		Anchor: from.Anchor,
		Line:   c.options.Line + from.Line - 1,
		Column: from.Column,
	})
	to := &c.nodes[len(c.nodes)-1]
	if from.Style&yaml.TaggedStyle != 0 || from.Tag == "!" {
		to.Tag = from.Tag
	}
	if !c.options.WithoutComments && (from.HeadComment != "" || from.LineComment != "" || from.FootComment != "") {
		to.Comments = &Comments{from.HeadComment, from.LineComment, from.FootComment}
	}
	if to.Anchor != "" || to.Kind == Alias {
		if !c.options.Aliases {
			return nil, to.errorf("YAML anchors and aliases are not supported")
		}
		c.link(from, to)
	}
	if len(from.Content) == 0 {
		return to, nil
	}
	to.Children, c.children = c.children[:len(from.Content):len(from.Content)], c.children[len(from.Content):]
	for i, child := range from.Content {
		var err error
		if to.Children[i], err = c.convert(child); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// link records the node that has an anchor, or sets the target of an alias. An anchor always precedes its aliases.
func (c *converter) link(from *yaml.Node, to *Node) {
	if to.Kind == Alias {
		to.Target = c.anchors[from.Alias]
		return
	}
	if c.anchors == nil {
		c.anchors = map[*yaml.Node]*Node{}
	}
	c.anchors[from] = to
}

func kindOf(n *yaml.Node) Kind {
	switch n.Kind {
	case yaml.SequenceNode:
		return Sequence
	case yaml.MappingNode:
		return Mapping
	case yaml.AliasNode:
		return Alias
	}
	return Scalar
}

func styleOf(n *yaml.Node) Style {
	for i, style := range libraryStyles {
		if style != 0 && n.Style&style != 0 {
			return Style(i)
		}
	}
	return Plain
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
