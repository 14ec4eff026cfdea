package yaml11

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// checker finds errors in documents that frontmatter accepts and PyYAML refuses.
type checker struct {
	lines  []string // the lines of the document; nil if it has no tabs
	spot   spot
	merged map[*frontmatter.Node]int // number of keys of each mapping, including merged keys; 0 while the mapping is being counted
	keys   int                       // total number of keys of all mappings that have merge keys
	tagged bool                      // whether the document has values that converter converts
}

// maxMerged is the maximum total number of keys of all mappings with merge keys in one document.
const maxMerged = 10_000

func (c *checker) check(node *frontmatter.Node, isKey bool) error {
	if c.lines != nil {
		if err := c.checkTabs(node); err != nil {
			return err
		}
	}
	if isTagged(node) {
		c.tagged = true
	}
	switch node.Kind {
	case frontmatter.Scalar:
		if node.Tag == "" && (node.Style != frontmatter.Plain || node.Text == "" || strings.IndexByte("=<0123456789", node.Text[0]) < 0) {
			return nil // most scalars are strings
		}
		return checkScalar(node, isKey)
	case frontmatter.Sequence, frontmatter.Mapping:
		if err := checkCollection(node); err != nil {
			return err
		}
	}
	for i, child := range node.Children {
		asKey := node.Kind == frontmatter.Mapping && i%2 == 0
		if asKey && child.Resolve().Kind != frontmatter.Scalar {
			return &SyntaxError{child.Line, "a key is a list or a mapping, but must be a scalar"}
		}
		if err := c.check(child, asKey); err != nil {
			return err
		}
		if asKey && isMerge(child) {
			if err := checkMerge(node.Children[i+1]); err != nil {
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
	line           string
	at             int  // byte offset of the node in its line; column counts code points instead
	tabAtEnd       bool // the white space at the end of the line, or that before the first #, contains a tab
}

// find moves the spot to the start of a node. It returns false if the position of the node is unknown.
func (s *spot) find(lines []string, node *frontmatter.Node) bool {
	if node.Line < 1 || node.Line > len(lines) || node.Column < 1 {
		return false
	}
	if node.Line != s.number || node.Column < s.column {
		*s = spot{number: node.Line, column: 1, line: lines[node.Line-1]}
		text, _, _ := strings.Cut(s.line, "#")
		s.tabAtEnd = tabAtEnd(text)
	}
	for ; s.column < node.Column; s.column++ {
		_, size := utf8.DecodeRuneInString(s.line[s.at:])
		s.at += size
	}
	return true
}

// checkTabs returns an error if a tab precedes or follows the value of node on the same line.
func (c *checker) checkTabs(node *frontmatter.Node) error {
	if !c.spot.find(c.lines, node) {
		return nil
	}
	before, rest := c.spot.line[:c.spot.at], c.spot.line[c.spot.at:]
	tab := tabAtEnd(before)
	if node.Kind == frontmatter.Scalar && node.Text == "" && node.Style == frontmatter.Plain && !isTagged(node) {
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
func tabAtEnd(text string) bool {
	return strings.IndexByte(text[len(strings.TrimRight(text, " \t")):], '\t') >= 0
}

// tabBehind reports whether a tab follows a scalar, or is inside of a plain scalar. It returns false for a scalar that
// spans several lines.
func tabBehind(rest string, node *frontmatter.Node) bool {
	if node.Kind != frontmatter.Scalar || node.Text == "" || isTagged(node) {
		return false
	}
	switch node.Style {
	case frontmatter.SingleQuoted, frontmatter.DoubleQuoted:
		end := quoteLen(rest)
		if end == 0 {
			return false
		}
		rest = rest[end:]
	case frontmatter.Plain:
		behind, whole := strings.CutPrefix(rest, node.Text)
		if !whole {
			return false
		}
		if strings.Contains(node.Text, "\t") {
			return true
		}
		rest = behind
	default:
		return false
	}
	return strings.HasPrefix(strings.TrimLeft(rest, " "), "\t")
}

// count returns the number of keys of a mapping, including merged keys. If the mapping merges itself, the result is
// greater than maxMerged.
func (c *checker) count(mapping *frontmatter.Node) int {
	if n, ok := c.merged[mapping]; ok {
		if n == 0 {
			return maxMerged + 1
		}
		return n
	}
	if c.merged == nil {
		c.merged = map[*frontmatter.Node]int{}
	}
	c.merged[mapping] = 0
	n := 1 + len(mapping.Children)/2
	for i := 0; i < len(mapping.Children); i += 2 {
		if !isMerge(mapping.Children[i]) {
			continue
		}
		merged := mapping.Children[i+1].Resolve()
		if merged.Kind == frontmatter.Mapping {
			n += c.count(merged)
			continue
		}
		for _, item := range merged.Children {
			n = min(n+c.count(item.Resolve()), maxMerged+1)
		}
	}
	c.merged[mapping] = min(n, maxMerged+1)
	return c.merged[mapping]
}

func checkMerge(value *frontmatter.Node) error {
	value = value.Resolve()
	if value.Kind == frontmatter.Mapping {
		return nil
	}
	if value.Kind == frontmatter.Sequence {
		for _, item := range value.Children {
			if item.Resolve().Kind != frontmatter.Mapping {
				return &SyntaxError{item.Line, "<< merges only mappings"}
			}
		}
		return nil
	}
	return &SyntaxError{value.Line, "<< merges only a mapping or a list of mappings"}
}

func unknownTag(node *frontmatter.Node) error {
	return &SyntaxError{node.Line, "an unknown tag"} // the error does not quote the tag, because the tag may be a password that begins with !
}
