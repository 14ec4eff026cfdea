package yaml11

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// checker refuses what the system's own reader refuses although it is YAML.
type checker struct {
	lines  [][]byte
	merged map[*yaml.Node]int // how many keys a mapping has together with those that it merges; 0 while that is counted
	keys   int                // of all mappings that merge others
	at     struct{ line, column, offset int }
}

// maxMerged bounds how many keys a document has by merging mappings into others.
const maxMerged = 10_000

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
			if c.keys += c.count(node); c.keys > maxMerged {
				return &SyntaxError{child.Line, fmt.Sprintf("<< makes more than %d keys, or a mapping of itself", maxMerged)}
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
	if tabBehind(line[c.offset(line, node):], node) {
		return &SyntaxError{node.Line, "a tab stands behind a value, where only spaces may"}
	}
	return nil
}

// offset returns where a node begins on its line. It goes on from the one before: a line may be the whole document.
func (c *checker) offset(line []byte, node *yaml.Node) int {
	if c.at.line != node.Line || c.at.column > node.Column {
		c.at.line, c.at.column, c.at.offset = node.Line, 1, 0
	}
	for ; c.at.column < node.Column && c.at.offset < len(line); c.at.column++ { // which counts letters
		_, size := utf8.DecodeRune(line[c.at.offset:])
		c.at.offset += size
	}
	return c.at.offset
}

// tabBehind tells, of a line from where a node begins, whether behind a scalar, or between the words of one without quotes, there is a tab on its line, of
// which it has no part on another line. Of what it is not certain it says no.
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

// count returns how many keys a mapping has, merged ones included; too many if it merges itself.
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
				return &SyntaxError{item.Line, "<< takes mappings only"}
			}
		}
		return nil
	}
	return &SyntaxError{value.Line, "<< takes a mapping or a list of mappings"}
}

func unknownTag(node *yaml.Node) error {
	return &SyntaxError{node.Line, "a tag is not known"} // which one is not said: a password may begin with !
}
