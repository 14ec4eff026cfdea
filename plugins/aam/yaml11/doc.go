// Package yaml11 reads and writes the YAML 1.1 files of the aam program, each of which has one UTF-8 document. In YAML
// 1.1, yes is a boolean, 010 is eight, and an unquoted date is not a string. Parse returns a Document. A Reader
// converts the values of a document, and collects all problems. EachItem reads a long list item by item. Encode and
// ListEncoder write whole documents. Document.Set changes one value in a user's file and preserves all other bytes.
//
// The library go.yaml.in/yaml/v4 parses documents. Package yaml11 itself determines the types of plain scalars, because
// the library follows YAML 1.2. Most files are in a simple style, which a faster parser (types lines and block) parses.
// For each document that parser returns the same values as the library, or false.
package yaml11

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
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
	root *node  // nil if the document has no value
	mark bool   // the file begins with a byte-order mark
	data []byte // the content without the byte-order mark
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
	if root, ok := loadBlock(data); ok {
		return &Document{root: root, data: data, mark: mark}, nil
	}
	tree, err := load(data)
	if err != nil {
		return nil, err
	}
	if tree == nil {
		return &Document{data: data, mark: mark}, nil
	}
	c := checker{lines: bytes.Split(data, []byte("\n")), merged: map[*yaml.Node]int{}}
	if err := c.check(tree, false); err != nil {
		return nil, err
	}
	return &Document{root: compose(tree, map[*yaml.Node]*node{}), data: data, mark: mark}, nil
}

// compose converts a node of the library, with all nodes below it. It replaces aliases by their targets, which are
// shared.
func compose(from *yaml.Node, done map[*yaml.Node]*node) *node {
	from = resolveAlias(from)
	if to := done[from]; to != nil {
		return to
	}
	to := &node{line: from.Line}
	done[from] = to
	switch from.Kind {
	case yaml.SequenceNode:
		to.kind = List
	case yaml.MappingNode:
		to.kind = Mapping
	default:
		to.kind, to.text = scalarKind(from), from.Value
		if isTagged(from, binaryTag) {
			data, _ := decodeBinary(from.Value)
			*to = *binaryNode(data, from.Line)
		}
	}
	for i, child := range from.Content {
		item := compose(child, done)
		if to.kind == Mapping && i%2 == 0 && isMerge(child) {
			item = &node{kind: merge, text: item.text, line: item.line}
		}
		if to.kind == Mapping && i%2 == 0 && isTagged(resolveAlias(child), binaryTag) {
			item = &node{kind: Binary, text: item.text, line: item.line} // a binary key must not equal any string, so the key gets the kind Binary
		}
		to.items = append(to.items, item)
	}
	composeTagged(to, from)
	return to
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

// load parses data with the library. It returns the root of the only document; nil if data contains no document.
func load(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithV4Defaults(), yaml.WithUniqueKeys(false),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, err
	}
	var document, second yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err)
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxError(err)
	default:
		return nil, &SyntaxError{second.Line, "a second document begins here; only one is allowed"}
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, nil
	}
	return document.Content[0], nil
}

// anchorName matches the name of an anchor in an error message of the library. These messages quote no other part of a
// document.
var anchorName = regexp.MustCompile(`(?s)'.*' `)

func syntaxError(err error) *SyntaxError {
	var load *yaml.LoadError
	if errors.As(err, &load) {
		// The name of the anchor is removed from the message, because it may be a password that begins with *.
		return &SyntaxError{max(0, load.Mark.Line), anchorName.ReplaceAllString(load.Message, "")}
	}
	return &SyntaxError{Reason: err.Error()}
}

// resolveAlias returns the target of an alias, and any other node unchanged.
func resolveAlias(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style&^yaml.TaggedStyle == 0
}
