package yaml11

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// loadBlock reads a document in the plain style in which the system's own programs write: blocks of
// mappings and lists, texts without or in single quotes, nothing else. It returns false where there is anything
// that it does not know for sure, which is then the library's to read; else its result is the library's.
//
// It is here because a registry's index is a megabyte and more, which takes a module seconds by way of the library.
func loadBlock(data []byte) (*yaml.Node, bool) {
	lines, ok := splitLines(string(data))
	if !ok || len(lines) == 0 || lines[0].indent != 0 || isItem(lines[0].text) {
		return nil, false
	}
	b := block{lines: lines}
	root := b.mapping(0)
	return root, !b.unsure && b.at == len(b.lines)
}

type line struct {
	indent int
	text   string // what is behind the indentation
}

// splitLines returns the lines of a document, all of which have something in them.
func splitLines(text string) ([]line, bool) {
	if !strings.HasSuffix(text, "\n") {
		return nil, false
	}
	lines := make([]line, 0, strings.Count(text, "\n"))
	for len(text) > 0 {
		end := strings.IndexByte(text, '\n')
		whole := text[:end]
		text = text[end+1:]
		content := strings.TrimLeft(whole, " ")
		if content == "" || content[0] == '#' || content[0] == '%' || content[len(content)-1] == ' ' || !plainBytes(content) ||
			strings.HasPrefix(whole, "---") || strings.HasPrefix(whole, "...") {
			return nil, false
		}
		lines = append(lines, line{len(whole) - len(content), content})
	}
	return lines, true
}

// plainBytes tells whether a line has nothing in it but printable characters, and no comment.
func plainBytes(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if !unicode.IsPrint(r) || r > 0xffff {
				return false
			}
			i += size - 1
			continue
		}
		if c < ' ' || c == 0x7f || c == '#' && i > 0 && text[i-1] == ' ' {
			return false
		}
	}
	return true
}

func isItem(text string) bool { return strings.HasPrefix(text, "- ") }

// block is a document that is being read.
type block struct {
	lines  []line
	at     int  // the next line
	unsure bool // there was something that the library has to look at
}

// next returns the next line; one without any indentation behind the last.
func (b *block) next() line {
	if b.at == len(b.lines) {
		return line{indent: -1}
	}
	return b.lines[b.at]
}

func (b *block) giveUp() *yaml.Node {
	b.unsure = true
	return newScalar("", 0, line{}, 0)
}

func newScalar(value string, style yaml.Style, at line, number int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value, Style: style, Line: number + 1, Column: at.indent + 1}
}

// mapping reads the lines of a mapping.
func (b *block) mapping(indent int) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode, Line: b.at + 1, Column: indent + 1}
	for at := b.next(); at.indent == indent && !isItem(at.text) && !b.unsure; at = b.next() {
		key, rest, ok := b.key(at)
		if !ok {
			return b.giveUp()
		}
		b.at++
		node.Content = append(node.Content, key, b.value(rest, indent))
	}
	if b.next().indent > indent {
		return b.giveUp()
	}
	return node
}

// value reads what stands behind a key, or below it.
func (b *block) value(rest string, indent int) *yaml.Node {
	if rest != "" {
		return b.scalar(rest, indent)
	}
	switch next := b.next(); {
	case isItem(next.text) && next.indent >= indent:
		return b.list(next.indent)
	case next.indent > indent:
		return b.mapping(next.indent)
	}
	return newScalar("", 0, line{}, b.at-1) // null
}

// list reads the lines of a list.
func (b *block) list(indent int) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode, Line: b.at + 1, Column: indent + 1}
	for at := b.next(); at.indent == indent && isItem(at.text) && !b.unsure; at = b.next() {
		inner := line{indent + 2, at.text[2:]}
		if inner.text[0] == ' ' || isItem(inner.text) || inner.text == "-" {
			return b.giveUp()
		}
		if _, _, isKey := b.key(inner); isKey {
			b.lines[b.at] = inner
			node.Content = append(node.Content, b.mapping(indent+2))
			continue
		}
		b.at++
		node.Content = append(node.Content, b.scalar(inner.text, indent))
	}
	if next := b.next(); next.indent > indent {
		return b.giveUp()
	}
	return node
}

// key takes the key off a line; false if the line has none.
func (b *block) key(at line) (key *yaml.Node, rest string, ok bool) {
	name, style, end := "", yaml.Style(0), 0
	if at.text[0] == '\'' {
		if name, end, ok = quoted(at.text); !ok {
			return nil, "", false
		}
		style = yaml.SingleQuotedStyle
	} else {
		for end < len(at.text) && wordByte(at.text[end]) {
			end++
		}
		if end == 0 || at.text[0] < 'A' { // a digit, a dot or a hyphen
			return nil, "", false
		}
		name = at.text[:end]
	}
	if end > 128 || !strings.HasPrefix(at.text[end:], ":") {
		return nil, "", false
	}
	if rest = at.text[end+1:]; rest != "" {
		if len(rest) < 2 || rest[0] != ' ' || rest[1] == ' ' {
			return nil, "", false
		}
		rest = rest[1:]
	}
	return newScalar(name, style, at, b.at), rest, true
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

// quoted returns what is in single quotes at the beginning of a text, and where that ends.
func quoted(text string) (value string, end int, ok bool) {
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '\'' {
			i++
			continue
		}
		return strings.ReplaceAll(text[1:i], "''", "'"), i + 1, true
	}
	return "", 0, false
}

// scalar reads a value that begins on the line before the next one, and may go on below.
func (b *block) scalar(text string, indent int) *yaml.Node {
	number := b.at - 1
	switch {
	case text == "[]":
		return &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Line: number + 1}
	case text == "{}":
		return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Line: number + 1}
	case text[0] == '\'':
		return b.quotedScalar(text, indent, number)
	}
	if !plainStart(text) || !plainText(text) {
		return b.giveUp()
	}
	for next := b.next(); next.indent > indent; next = b.next() {
		if !plainText(next.text) || next.text[0] == '#' {
			return b.giveUp()
		}
		text += " " + next.text
		b.at++
	}
	return newScalar(text, 0, line{}, number)
}

func (b *block) quotedScalar(text string, indent, number int) *yaml.Node {
	for {
		value, end, ok := quoted(text)
		if ok && end == len(text) {
			return newScalar(value, yaml.SingleQuotedStyle, line{}, number)
		}
		next := b.next()
		if ok || next.indent <= indent {
			return b.giveUp()
		}
		text += " " + next.text
		b.at++
	}
}

// plainStart tells whether a text without quotes may begin so, and is no sign of anything else.
func plainStart(text string) bool {
	c := text[0]
	return wordByte(c) && c != '-' && c != '.' || strings.IndexByte("^~/+($=<", c) >= 0 || c >= utf8.RuneSelf
}

// plainText tells whether there is nothing in a text without quotes that is a key's end.
func plainText(text string) bool {
	return !strings.Contains(text, ": ") && !strings.HasSuffix(text, ":")
}
