package yaml11

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// checker finds errors in documents that the library accepts and PyYAML refuses.
type checker struct {
	lines  [][]byte
	spot   spot
	merged map[*yaml.Node]int // number of keys of each mapping, including merged keys; 0 while the mapping is being counted
	keys   int                // total number of keys of all mappings that have merge keys
}

// maxMerged is the maximum total number of keys of all mappings with merge keys in one document.
const maxMerged = 10_000

func (c *checker) check(node *yaml.Node, isKey bool) error {
	if err := c.checkTabs(node); err != nil {
		return err
	}
	switch node.Kind {
	case yaml.ScalarNode:
		return checkScalar(node, isKey)
	case yaml.SequenceNode, yaml.MappingNode:
		if err := checkCollection(node); err != nil {
			return err
		}
	}
	for i, child := range node.Content {
		asKey := node.Kind == yaml.MappingNode && i%2 == 0
		if asKey && resolveAlias(child).Kind != yaml.ScalarNode {
			return &SyntaxError{child.Line, "a key is a list or a mapping, but must be a scalar"}
		}
		if err := c.check(child, asKey); err != nil {
			return err
		}
		if asKey && isMerge(child) {
			if err := checkMerge(node.Content[i+1]); err != nil {
				return err
			}
			if c.keys += c.count(node); c.keys > maxMerged {
				return &SyntaxError{child.Line, fmt.Sprintf("<< merges more than %d keys, or a mapping into itself", maxMerged)}
			}
		}
	}
	return nil
}

// spot is the position of a node in its line. The search for a node starts at the position of the previous node.
// Otherwise a document on one line would take quadratic time.
type spot struct {
	number, column int // line number and column of the node, from 1
	line           []byte
	at             int  // byte offset of the node in its line; column counts code points instead
	tabAtEnd       bool // the white space at the end of the line, or that before the first #, contains a tab
}

// find moves the spot to the start of a node. It returns false if the position of the node is unknown.
func (s *spot) find(lines [][]byte, node *yaml.Node) bool {
	if node.Line < 1 || node.Line > len(lines) || node.Column < 1 {
		return false
	}
	if node.Line != s.number || node.Column < s.column {
		*s = spot{number: node.Line, column: 1, line: lines[node.Line-1]}
		text, _, _ := bytes.Cut(s.line, []byte("#"))
		s.tabAtEnd = tabAtEnd(text)
	}
	for ; s.column < node.Column; s.column++ {
		_, size := utf8.DecodeRune(s.line[s.at:])
		s.at += size
	}
	return true
}

// checkTabs returns an error if a tab precedes or follows the value of node on the same line.
func (c *checker) checkTabs(node *yaml.Node) error {
	if !c.spot.find(c.lines, node) {
		return nil
	}
	before, rest := c.spot.line[:c.spot.at], c.spot.line[c.spot.at:]
	tab := tabAtEnd(before)
	if node.Kind == yaml.ScalarNode && node.Value == "" && node.Style == 0 {
		tab = c.spot.tabAtEnd // the value is empty, so only the white space at the end of the line belongs to the value
	}
	if tab {
		return &SyntaxError{node.Line, "a tab where only spaces are allowed"}
	}
	if tabBehind(rest, node) {
		return &SyntaxError{node.Line, "a tab after a value, where only spaces are allowed"}
	}
	return nil
}

// tabAtEnd reports whether the white space at the end of text contains a tab.
func tabAtEnd(text []byte) bool {
	return bytes.IndexByte(text[len(bytes.TrimRight(text, " \t")):], '\t') >= 0
}

// tabBehind reports whether a tab follows a scalar, or is inside of a plain scalar. It returns false for a scalar that
// spans several lines.
func tabBehind(rest []byte, node *yaml.Node) bool {
	if node.Kind != yaml.ScalarNode || node.Value == "" {
		return false
	}
	switch node.Style {
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		end := quoteLen(rest)
		if end == 0 {
			return false
		}
		rest = rest[end:]
	case 0:
		behind, whole := bytes.CutPrefix(rest, []byte(node.Value))
		if !whole {
			return false
		}
		if strings.Contains(node.Value, "\t") {
			return true
		}
		rest = behind
	default:
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("\t"))
}

// count returns the number of keys of a mapping, including merged keys. If the mapping merges itself, the result is
// greater than maxMerged.
func (c *checker) count(mapping *yaml.Node) int {
	if n, ok := c.merged[mapping]; ok {
		if n == 0 {
			return maxMerged + 1
		}
		return n
	}
	c.merged[mapping] = 0
	n := 1 + len(mapping.Content)/2
	for i := 0; i < len(mapping.Content); i += 2 {
		if !isMerge(mapping.Content[i]) {
			continue
		}
		merged := resolveAlias(mapping.Content[i+1])
		if merged.Kind == yaml.MappingNode {
			n += c.count(merged)
			continue
		}
		for _, item := range merged.Content {
			n = min(n+c.count(resolveAlias(item)), maxMerged+1)
		}
	}
	c.merged[mapping] = min(n, maxMerged+1)
	return c.merged[mapping]
}

func checkMerge(value *yaml.Node) error {
	value = resolveAlias(value)
	if value.Kind == yaml.MappingNode {
		return nil
	}
	if value.Kind == yaml.SequenceNode {
		for _, item := range value.Content {
			if resolveAlias(item).Kind != yaml.MappingNode {
				return &SyntaxError{item.Line, "<< merges only mappings"}
			}
		}
		return nil
	}
	return &SyntaxError{value.Line, "<< merges only a mapping or a list of mappings"}
}

func unknownTag(node *yaml.Node) error {
	return &SyntaxError{node.Line, "an unknown tag"} // the error does not quote the tag, because the tag may be a password that begins with !
}
