// Package yaml11 reads and writes the YAML 1.1 files of the aam program, each of which has one UTF-8 document. In YAML
// 1.1, yes is a boolean, 010 is eight, and an unquoted date is not a string. Parse returns a Document. A Reader
// converts the values of a document, and collects all problems. EachItem reads a long list item by item. Encode and
// ListEncoder write whole documents. Document.Set changes one value in a user's file and preserves all other bytes.
//
// The package sdk/frontmatter parses documents to trees, which do not depend on the version of YAML. Package yaml11
// determines the types of plain scalars and the meaning of tags and merge keys, and refuses what PyYAML refuses.
package yaml11

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxDepth is the maximum nesting depth of values. The file formats of aam need six levels.
const maxDepth = 64

// SyntaxError is the error for a document that is not YAML, or that uses features of YAML that aam does not support.
type SyntaxError struct {
	Line   int // line number, from 1; 0 if unknown
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

const byteOrderMark = "\ufeff"

// Document is the parsed content of a file. The zero value is an empty document.
type Document struct {
	root *frontmatter.Node // nil if the document has no value
	mark bool              // the file begins with a byte-order mark
	data []byte            // the content without the byte-order mark
}

// Bytes returns the content of the file, including a byte-order mark.
func (d *Document) Bytes() []byte {
	if d.mark {
		return append([]byte(byteOrderMark), d.data...)
	}
	return d.data
}

// Parse parses a document of at most limit bytes. Errors are of type *SyntaxError. A document without a value counts as
// an empty mapping.
func Parse(data []byte, limit int) (*Document, error) {
	if len(data) > limit {
		return nil, &SyntaxError{Reason: fmt.Sprintf("larger than %d bytes", limit)}
	}
	if !utf8.Valid(data) {
		return nil, &SyntaxError{Line: 1 + bytes.Count(data[:firstInvalid(data)], []byte("\n")), Reason: "not UTF-8"}
	}
	data, mark := bytes.CutPrefix(data, []byte(byteOrderMark))
	root, err := load(&frontmatter.Parser{}, string(data), maxDepth)
	if err != nil {
		return nil, err
	}
	return &Document{root: root, data: data, mark: mark}, nil
}

func firstInvalid(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// load parses text, checks the tree, and converts its tagged values.
func load(p *frontmatter.Parser, text string, depth int) (*frontmatter.Node, error) {
	root, err := parseTree(p, text, depth)
	if err != nil || root == nil {
		return nil, err
	}
	c := checker{}
	if strings.IndexByte(text, '\t') >= 0 {
		c.lines = strings.Split(text, "\n")
	}
	if err := c.check(root, false); err != nil {
		return nil, err
	}
	if c.tagged {
		converter{}.convert(root)
	}
	return root, nil
}

// parseTree returns the tree of text as frontmatter parses it; nil if text contains no document.
func parseTree(p *frontmatter.Parser, text string, depth int) (*frontmatter.Node, error) {
	root, err := p.Parse(text, frontmatter.Options{Depth: depth, Aliases: true, WithoutComments: true})
	if err != nil {
		return nil, syntaxError(err)
	}
	return root, nil
}

// anchorName matches the name of an anchor in an error message of the YAML library. These messages quote no other part
// of a document.
var anchorName = regexp.MustCompile(`(?s)'.*' `)

func syntaxError(err error) *SyntaxError {
	var failed *frontmatter.Error
	if !errors.As(err, &failed) {
		return &SyntaxError{Reason: err.Error()}
	}
	// The name of the anchor is removed from the message, because it may be a password that begins with *.
	reason := anchorName.ReplaceAllString(strings.TrimPrefix(failed.Reason, "invalid YAML: "), "")
	if failed.Column == 0 { // the library does not know the line of a character that it does not accept
		return &SyntaxError{Reason: reason}
	}
	return &SyntaxError{failed.Line, reason}
}

// isTagged reports whether a node has a tag in the file. The tag ! has no meaning.
func isTagged(n *frontmatter.Node) bool { return n.Tag != "" && n.Tag != "!" }

// isMerge reports whether a key is << without quotes.
func isMerge(key *frontmatter.Node) bool {
	return key.Kind == frontmatter.Scalar && key.Style == frontmatter.Plain && key.Text == "<<"
}
