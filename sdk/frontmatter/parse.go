package frontmatter

import (
	"cmp"
	"fmt"
)

// DefaultDepth is how deeply sequences and mappings may be nested unless Options says otherwise.
const DefaultDepth = 64

// Options control Parse. The zero value suits most files.
type Options struct {
	// Depth bounds the nesting of sequences and mappings; 0 stands for DefaultDepth.
	Depth int
	// Aliases allows anchors and aliases. A few bytes of them can stand for millions of nodes, or for an endless
	// tree: a caller that follows Node.Target has to count what it visits.
	Aliases bool
	// Line is the number that the text's first line has in its file; 0 stands for 1. Nodes and errors count from it.
	Line int
}

// Error is the reason why a text or a node is refused.
type Error struct {
	Line, Column int    // from 1; 0 if the error has no single position
	Reason       string // may quote a key or the name of an anchor, but no value
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// Parse returns the root of the only document in a text, nil if the text has none because it is empty or contains only
// comments. The error is an *Error. Duplicate keys are accepted, since formats differ in where they allow them: check
// with [Node.CheckKeys].
func Parse(text string, options Options) (*Node, error) {
	options.Depth = cmp.Or(options.Depth, DefaultDepth)
	options.Line = cmp.Or(options.Line, 1)
	if root, ok := parseSimple(text, options); ok {
		return root, nil
	}
	return load(text, options)
}
