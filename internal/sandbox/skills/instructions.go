package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of the front matter of SKILL.md.
const (
	maxFrontmatter      = 16 << 10 // bytes
	maxFrontmatterDepth = 8
	maxDescription      = 1024 // code points, by the Agent Skills specification
)

// readInstructions reads and validates SKILL.md.
func (s *Skill) readInstructions(content []byte) error {
	if err := checkText(content); err != nil {
		return err
	}
	head, _, err := frontmatter.Cut(string(content))
	switch {
	case err != nil:
		return err
	case len(head) > maxFrontmatter:
		return fmt.Errorf("the front matter has more than %d KiB", maxFrontmatter>>10)
	}
	root, err := frontmatter.Parse(head, frontmatter.Options{Depth: maxFrontmatterDepth, WithoutComments: true, Line: 2})
	if err != nil {
		return err
	}
	if root == nil || root.Kind != frontmatter.Mapping {
		return errors.New("the front matter has no keys: write name and description")
	}
	if s.Frontmatter, err = appendJSON(nil, root); err != nil {
		return err
	}
	for key, value := range map[string]*string{"name": &s.Name, "description": &s.Description} {
		text, ok := rawjson.Unquote(rawjson.Member(s.Frontmatter, key))
		if !ok || text == "" {
			return fmt.Errorf("the front matter has no string %s", key)
		}
		*value = text
	}
	if n := utf8.RuneCountInString(s.Description); n > maxDescription {
		return fmt.Errorf("description has %d characters, and at most %d are possible", n, maxDescription)
	}
	return nil
}

// checkText refuses a text for a model that is not UTF-8, or that hides or reorders characters from people who review it.
func checkText(content []byte) error {
	if !utf8.Valid(content) {
		return errors.New("it is not UTF-8")
	}
	text, line := string(content), 1
	if visible.Prose(text) == text {
		return nil
	}
	for one := range strings.Lines(text) {
		if one = strings.TrimRight(one, "\r\n"); visible.Prose(one) != one {
			return fmt.Errorf("line %d has a character that is invisible or reorders text: remove it, such as U+202E, U+200B or a control character", line)
		}
		line++
	}
	return nil
}

// appendJSON appends a value of the front matter as JSON. Clients parse the same YAML and compare, so a value that versions of YAML read
// differently is refused.
func appendJSON(out json.RawMessage, n *frontmatter.Node) (json.RawMessage, error) {
	if n.Tag != "" || n.Anchor != "" {
		return nil, fmt.Errorf("line %d: tags and anchors are not supported", n.Line)
	}
	var err error
	switch n.Kind {
	case frontmatter.Mapping:
		if err := n.CheckKeys(); err != nil {
			return nil, err
		}
		out = append(out, '{')
		separator := ""
		for key, value := range n.Pairs() {
			if key.Tag != "" || key.Tag12() != "!!str" || isAmbiguous(key) {
				return nil, fmt.Errorf("line %d: the key %s is not read as a string everywhere: put it in quotes", key.Line, visible.Name(key.Text))
			}
			if out, err = appendString(append(out, separator...), key); err != nil {
				return nil, err
			}
			if out, err = appendJSON(append(out, ':'), value); err != nil {
				return nil, err
			}
			separator = ","
		}
		return append(out, '}'), nil
	case frontmatter.Sequence:
		out = append(out, '[')
		for i, item := range n.Children {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendJSON(out, item); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case frontmatter.Scalar:
		return appendScalar(out, n)
	}
	return nil, fmt.Errorf("line %d: aliases are not supported", n.Line)
}

func appendScalar(out json.RawMessage, n *frontmatter.Node) (json.RawMessage, error) {
	tag := n.Tag12()
	switch {
	case isAmbiguous(n):
	case tag == "!!str":
		return appendString(out, n)
	case tag == "!!null":
		return append(out, "null"...), nil
	case tag == "!!bool":
		return append(out, strings.ToLower(n.Text)...), nil
	case (tag == "!!int" || tag == "!!float") && isPlainNumber(n.Text):
		return append(out, n.Text...), nil
	}
	return nil, fmt.Errorf("line %d: versions of YAML read %s differently: put it in quotes", n.Line, visible.Name(n.Text))
}

// appendString adds a string. The file was searched for invisible characters, but not for escapes that stand for them.
func appendString(out json.RawMessage, n *frontmatter.Node) (json.RawMessage, error) {
	if visible.Prose(n.Text) != n.Text {
		return nil, fmt.Errorf("line %d: an escape stands for a character that is invisible or changes the order of text: remove it", n.Line)
	}
	return append(out, rawjson.Quote(n.Text)...), nil
}

// isAmbiguous reports whether a plain scalar is a string in YAML 1.2, and in YAML 1.1 a boolean or a number in base 60.
func isAmbiguous(n *frontmatter.Node) bool {
	if n.Style != frontmatter.Plain {
		return false
	}
	switch strings.ToLower(n.Text) {
	case "yes", "no", "on", "off", "=", "<<":
		return true
	}
	digits := strings.TrimLeft(n.Text, "+-")
	return strings.Contains(digits, ":") && strings.Trim(digits, "0123456789_:.") == ""
}

// isPlainNumber reports whether text is a decimal number that JSON and all versions of YAML read as the same one.
func isPlainNumber(text string) bool {
	whole, fraction, found := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	isDigits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return len(text) <= 15 && isDigits(whole) && (len(whole) == 1 || whole[0] != '0') && (!found || isDigits(fraction))
}
