// Package yaml11 reads and writes YAML as the files of this system use it: YAML 1.1, where yes is a boolean,
// 010 is eight and a bare date is not a text, one document to a file, UTF-8. Parse gives a Document, Reader
// takes its values out and collects what is wrong with them, Encode writes a new document in the style of
// the files that are there already, and Document.Set changes one value and leaves the rest alone.
//
// The text is taken apart by go.yaml.in/yaml/v4; what a plain word means is decided here.
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

// maxDepth bounds how deep values are nested. The formats need six levels.
const maxDepth = 64

// SyntaxError says that a text is not YAML, or YAML that no file of this system may use.
type SyntaxError struct {
	Line   int // from 1; 0 where no line is known
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

const byteOrderMark = "\ufeff"

// Document is a file's content.
type Document struct {
	root    *node      // nil for none
	mark    bool       // it began with a byte-order mark
	data    []byte     // what it was read from, and then what Set has made of it, unless written is set
	whole   *yaml.Node // how it is written, once it was changed; nil otherwise
	tree    *yaml.Node // its value in there; nil for none
	written bool       // the text could not be changed in place: it is written anew
}

// Parse reads a document of at most limit bytes. Its errors are *SyntaxError. A text without any value is
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

// compose returns what the library has read, with what aliases stand for in their place.
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
	}
	for i, child := range from.Content {
		item := compose(child, done)
		if to.kind == Mapping && i%2 == 0 && isMerge(child) {
			item = &node{kind: merge, text: item.text, line: item.line}
		}
		to.items = append(to.items, item)
	}
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

// load returns the root of a text's only document; nil if it has none.
func load(data []byte) (*yaml.Node, error) {
	document, err := loadDocument(data)
	if document == nil {
		return nil, err
	}
	return document.Content[0], nil
}

// loadDocument returns a text's only document, which has one root; nil if there is none.
func loadDocument(data []byte) (*yaml.Node, error) {
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
		return nil, &SyntaxError{second.Line, "a second document begins here; there may be one only"}
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, nil
	}
	return &document, nil
}

// anchorName is the only thing from the text that the library's words hold.
var anchorName = regexp.MustCompile(`(?s)'.*' `)

func syntaxError(err error) *SyntaxError {
	var load *yaml.LoadError
	if errors.As(err, &load) {
		// Not said is the name of an anchor: a password that begins with * is taken for one.
		return &SyntaxError{max(0, load.Mark.Line), anchorName.ReplaceAllString(load.Message, "")}
	}
	return &SyntaxError{Reason: err.Error()}
}

// resolveAlias returns what an alias stands for.
func resolveAlias(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style&^yaml.TaggedStyle == 0
}
