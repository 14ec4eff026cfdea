package frontmatter

import (
	"cmp"
	"fmt"
)

// DefaultDepth is the maximum nesting of sequences and mappings if Options.Depth is 0.
const DefaultDepth = 64

// Options control Parse. The zero value suits most files.
type Options struct {
	// Depth is the maximum nesting of sequences and mappings; 0 means DefaultDepth.
	Depth int
	// Aliases allows anchors and aliases. A few bytes of aliases can stand for millions of nodes, or for an endless tree: a caller that
	// follows Node.Target has to count the nodes that it visits.
	Aliases bool
	// WithoutComments leaves out the comments of nodes. Then files with comments, too, are parsed without the library, which takes a fraction of
	// the time.
	WithoutComments bool
	// Line is the line number in the file that the first line of the text has; 0 means 1. The lines of nodes and errors count from it.
	Line int
}

// Error is the reason why a text or a node is refused.
type Error struct {
	Line, Column int    // position of the error, from 1; 0 if the error has no single position
	Reason       string // the reason; it may quote a key or the name of an anchor, but no value
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// Parse returns the root of the only document in text. It returns nil if text has no document because it is empty or contains only comments.
// The error is an *Error. Duplicate keys are accepted, since formats differ in where they allow them: call [Node.CheckKeys] to refuse them.
func Parse(text string, options Options) (*Node, error) { return new(Parser).Parse(text, options) }

// Parser parses many texts, one after the other, in the same memory. The zero value is ready to use. A Parser must not be used by several
// goroutines at a time.
type Parser struct{ simple simpleParser }

// Parse does what the function [Parse] does. It may overwrite the nodes of the tree that the call before has returned. The strings of that
// tree stay valid.
func (p *Parser) Parse(text string, options Options) (*Node, error) {
	options.Depth = cmp.Or(options.Depth, DefaultDepth)
	options.Line = cmp.Or(options.Line, 1)
	if root, ok := p.simple.parse(text, options); ok {
		return root, nil
	}
	return load(text, options)
}
