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

// Document is a file's content.
type Document struct {
	root *yaml.Node // nil for none
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
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	root, err := load(data)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return &Document{}, nil
	}
	if err := (&checker{lines: bytes.Split(data, []byte("\n"))}).check(root, false); err != nil {
		return nil, err
	}
	return &Document{root: root}, nil
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
	return document.Content[0], nil
}

func syntaxError(err error) *SyntaxError {
	var load *yaml.LoadError
	if errors.As(err, &load) {
		return &SyntaxError{max(0, load.Mark.Line), load.Message}
	}
	return &SyntaxError{Reason: err.Error()}
}

// checker refuses what the system's own reader refuses although it is YAML.
type checker struct {
	lines [][]byte
}

func (c *checker) check(node *yaml.Node, isKey bool) error {
	if err := c.checkTabs(node); err != nil {
		return err
	}
	switch node.Kind {
	case yaml.ScalarNode:
		return checkScalar(node, isKey)
	case yaml.SequenceNode, yaml.MappingNode:
		if node.Style&yaml.TaggedStyle != 0 && node.ShortTag() != "!!seq" && node.ShortTag() != "!!map" {
			return unknownTag(node)
		}
	}
	for i, child := range node.Content {
		asKey := node.Kind == yaml.MappingNode && i%2 == 0
		if asKey && resolveAlias(child).Kind != yaml.ScalarNode {
			return &SyntaxError{child.Line, "a key is a list or a mapping"}
		}
		if err := c.check(child, asKey); err != nil {
			return err
		}
		if asKey && isMerge(child) {
			if err := checkMerge(node.Content[i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTabs refuses a tab between a value and what stands before it on its line.
func (c *checker) checkTabs(node *yaml.Node) error {
	if node.Line < 1 || node.Line > len(c.lines) {
		return nil
	}
	line := c.lines[node.Line-1]
	end := min(max(node.Column-1, 0), len(line))
	if node.Kind == yaml.ScalarNode && node.Value == "" && node.Style == 0 {
		end = len(line) // nothing stands there, so what is behind it on the line is not part of it
		if at := bytes.IndexByte(line, '#'); at >= 0 {
			end = at
		}
	}
	for at := end - 1; at >= 0 && (line[at] == ' ' || line[at] == '\t'); at-- {
		if line[at] == '\t' {
			return &SyntaxError{node.Line, "a tab stands where only spaces may"}
		}
	}
	return nil
}

func checkMerge(value *yaml.Node) error {
	value = resolveAlias(value)
	if value.Kind == yaml.MappingNode {
		return nil
	}
	if value.Kind == yaml.SequenceNode {
		for _, item := range value.Content {
			if resolveAlias(item).Kind != yaml.MappingNode {
				return &SyntaxError{item.Line, "<< takes mappings only"}
			}
		}
		return nil
	}
	return &SyntaxError{value.Line, "<< takes a mapping or a list of mappings"}
}

func unknownTag(node *yaml.Node) error {
	return &SyntaxError{node.Line, fmt.Sprintf("tag %.60q is not known", node.Tag)}
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
