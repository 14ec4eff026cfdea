package frontmatter

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// DefaultDepth is how deeply sequences and mappings may be nested unless Options says otherwise.
const DefaultDepth = 64

// Options are the bounds of Parse. The zero value is the strictest and suits most files.
type Options struct {
	// Depth bounds the nesting of sequences and mappings; 0 stands for DefaultDepth.
	Depth int
	// Aliases allows anchors and aliases. A few bytes of them can stand for millions of nodes, or for an endless
	// tree: a caller that follows Node.Target has to count what it visits.
	Aliases bool
	// Line is the number that the text's first line has in its file; 0 stands for 1. Nodes and errors count from it.
	Line int
}

// Error is why a text or a node is refused.
type Error struct {
	Line, Column int // from 1; 0 if the error is not in one place
	Reason       string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// Parse returns the root of the only document in a text, nil if the text has none: it is empty, or holds comments
// only. The error is an *Error. Duplicate keys are left to [Node.CheckKeys], as formats differ in where they allow
// them.
func Parse(text string, options Options) (*Node, error) {
	options.Depth = orDefault(options.Depth, DefaultDepth)
	options.Line = orDefault(options.Line, 1)
	return load(text, options)
}

func orDefault(value, fallback int) int {
	if value == 0 {
		return fallback
	}
	return value
}

// load is Parse by the library.
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
		return nil, &Error{options.Line + second.Line - 1, second.Column, "a second YAML document begins here"}
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

// converter copies a tree of the library. All nodes are allocated at once, and so are all lists of children.
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
	if from.HeadComment != "" || from.LineComment != "" || from.FootComment != "" {
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

// link records the node of an anchor, or sets the target of an alias, whose anchor is always before it.
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
