package frontmatter

import (
	"strings"
	"unicode/utf8"
)

// value parses the value of an entry or item of the block at indent. rest is the part of the line from column on. Then value moves to the
// next line.
func (p *simpleParser) value(rest string, column, indent int) *Node {
	var value *Node
	switch c := rest[0]; {
	case rest == "|" || rest == "|-":
		value = p.literal(rest, column, indent)
	case c == '[' || c == '{':
		cursor := flowCursor{rest, column}
		value = p.flow(&cursor)
		p.end(cursor.rest)
	case isQuote(c):
		value = p.longQuoted(rest, column, indent)
	default:
		value = p.plain(rest, column, indent)
	}
	if !p.done && p.indent > indent {
		p.fail() // the scalar continues on this line
	}
	return value
}

// isEnd reports whether a line may end with rest after a value: rest is empty, or is a comment that the tree does not keep.
func (p *simpleParser) isEnd(rest string) bool {
	return rest == "" || p.withoutComments && rest[0] == '#'
}

// end moves to the next line. rest is what follows the value on the current line.
func (p *simpleParser) end(rest string) {
	trimmed := strings.TrimLeft(rest, " ")
	if !p.isEnd(trimmed) || trimmed != "" && len(trimmed) == len(rest) {
		p.fail()
	}
	p.next()
}

// plain parses a plain scalar, which may continue on the following lines.
func (p *simpleParser) plain(rest string, column, indent int) *Node {
	text, comment := rest, ""
	if mark := commentMark(rest); mark >= 0 {
		text, comment = strings.TrimRight(rest[:mark], " "), rest[mark-1:]
	}
	if text == "" || !isPlainStart(text) || hasKey(text) {
		p.fail()
		return nil
	}
	scalar := p.node(Scalar, Plain, text, column)
	if p.end(comment); p.done || p.indent <= indent || comment != "" {
		return scalar
	}
	whole := []byte(text)
	for !p.done && p.indent > indent {
		if p.gap || hasKey(p.line) || commentMark(p.line) >= 0 {
			p.fail()
			return nil
		}
		whole = append(append(whole, ' '), p.line...)
		p.next()
	}
	scalar.Text = string(whole)
	return scalar
}

// commentMark returns the index of the number sign that begins a comment behind a plain scalar; -1 if there is none.
func commentMark(text string) int {
	for from := 0; ; {
		mark := strings.IndexByte(text[from:], '#')
		if mark < 0 {
			return -1
		}
		if from += mark + 1; from > 1 && text[from-2] == ' ' {
			return from - 1
		}
	}
}

// hasKey reports whether text has a colon that would make it a key.
func hasKey(text string) bool {
	for {
		colon := strings.IndexByte(text, ':')
		if colon < 0 {
			return false
		}
		if text = text[colon+1:]; text == "" || text[0] == ' ' {
			return true
		}
	}
}

// isPlainStart reports whether, in every context, a plain scalar can begin with text.
func isPlainStart(text string) bool {
	c := text[0]
	if c == '-' && len(text) > 1 {
		c = text[1]
	}
	return isAlphanumeric(c) || c >= utf8.RuneSelf || strings.IndexByte("./~+($^=<", c) >= 0
}

func isQuote(c byte) bool { return c == '\'' || c == '"' }

// quotedLength returns the length of the quoted scalar with which text begins; 0 if it has escapes other than two single quotes, or does not
// end on this line.
func quotedLength(text string) int {
	if text[0] == '\'' {
		return closingQuote(text[1:]) + 2
	}
	end := strings.IndexAny(text[1:], `"\`) + 1
	if end == 0 || text[end] == '\\' {
		return 0
	}
	return end + 1
}

// closingQuote returns the index of the quote that ends a scalar in single quotes. text begins behind the opening quote, or on a following
// line. If text has no closing quote, the result is -2.
func closingQuote(text string) int {
	for from := 0; ; from += 2 {
		quote := strings.IndexByte(text[from:], '\'')
		if quote < 0 {
			return -2
		}
		if from += quote; from+1 == len(text) || text[from+1] != '\'' {
			return from
		}
	}
}

// quoted parses a quoted scalar that ends on this line, and returns its length in text; 0 if the scalar is not simple.
func (p *simpleParser) quoted(text string, column int) (*Node, int) {
	length := quotedLength(text)
	if length == 0 {
		return nil, 0
	}
	inner := text[1 : length-1]
	if text[0] == '"' {
		return p.node(Scalar, DoubleQuoted, inner, column), length
	}
	return p.node(Scalar, SingleQuoted, strings.ReplaceAll(inner, "''", "'"), column), length
}

// longQuoted parses a quoted scalar. If it is in single quotes, it may end on a following line.
func (p *simpleParser) longQuoted(rest string, column, indent int) *Node {
	if scalar, length := p.quoted(rest, column); length > 0 {
		p.end(rest[length:])
		return scalar
	}
	if rest[0] == '"' {
		p.fail()
		return nil
	}
	scalar := p.node(Scalar, SingleQuoted, "", column)
	whole := []byte(rest[1:])
	for {
		p.next()
		if p.done || p.indent <= indent || p.gap {
			p.fail()
			return nil
		}
		end := closingQuote(p.line)
		if end >= 0 {
			whole = append(append(whole, ' '), p.line[:end]...)
			scalar.Text = strings.ReplaceAll(string(whole), "''", "'")
			p.end(p.line[end+1:])
			return scalar
		}
		whole = append(append(whole, ' '), p.line...)
	}
}

// flowCursor is a position within a sequence or mapping in brackets.
type flowCursor struct {
	rest   string
	column int // counted in characters
}

// skip moves over n bytes and the spaces after them.
func (c *flowCursor) skip(n int) {
	for n < len(c.rest) && c.rest[n] == ' ' {
		n++
	}
	c.column += utf8.RuneCountInString(c.rest[:n])
	c.rest = c.rest[n:]
}

// flow parses the sequence in brackets or the mapping in braces with which the rest of c begins, and moves c behind it.
func (p *simpleParser) flow(c *flowCursor) *Node {
	collection, end := p.node(Sequence, Flow, "", c.column), byte(']')
	if c.rest[0] == '{' {
		collection.Kind, end = Mapping, '}'
	}
	first := p.open()
	c.skip(1)
	for !p.failed {
		if strings.HasPrefix(c.rest, string(end)) && len(p.children) == first {
			break
		}
		if collection.Kind == Mapping {
			p.flowKey(c)
		}
		if value := p.flowValue(c); value != nil {
			p.children = append(p.children, value)
		}
		if strings.HasPrefix(c.rest, string(end)) {
			break
		}
		if !strings.HasPrefix(c.rest, ",") {
			p.fail()
			break
		}
		c.skip(1)
	}
	if !p.failed {
		c.rest = c.rest[1:]
		c.column++
	}
	return p.close(collection, first)
}

// flowKey parses the key of an entry between braces.
func (p *simpleParser) flowKey(c *flowCursor) {
	if c.rest == "" {
		p.fail()
		return
	}
	key, length := p.key(c.rest, c.column)
	if length == 0 {
		p.fail()
		return
	}
	p.children = append(p.children, key)
	c.skip(length)
}

// flowValue parses a value between brackets, and moves c behind it and the spaces after it. If the value is not simple, flowValue returns nil.
func (p *simpleParser) flowValue(c *flowCursor) *Node {
	if c.rest == "" || p.failed {
		p.fail()
		return nil
	}
	switch {
	case c.rest[0] == '[' || c.rest[0] == '{':
		value := p.flow(c)
		c.skip(0)
		return value
	case isQuote(c.rest[0]):
		value, length := p.quoted(c.rest, c.column)
		if length == 0 {
			p.fail()
			return nil
		}
		c.skip(length)
		return value
	}
	end := strings.IndexAny(c.rest, ",[]{}:")
	if end < 0 {
		p.fail()
		return nil
	}
	text := strings.TrimRight(c.rest[:end], " ")
	if text == "" || !isPlainStart(text) || commentMark(text) >= 0 {
		p.fail()
		return nil
	}
	value := p.node(Scalar, Plain, text, c.column)
	c.skip(end)
	return value
}

// literal parses a literal block scalar, which begins below the current line. Then literal moves to the line after the scalar.
func (p *simpleParser) literal(header string, column, indent int) *Node {
	literal := p.node(Scalar, Literal, "", column)
	first := strings.TrimLeft(p.text, " ")
	own := len(p.text) - len(first) // indentation of the scalar, which is that of its first line
	if own <= indent || first == "" || first[0] == '\n' {
		p.fail()
		return nil
	}
	var out strings.Builder
	blank := 0
	for p.text != "" {
		line, _, ended := strings.Cut(p.text, "\n")
		trimmed := strings.TrimLeft(line, " ")
		if !ended {
			p.fail()
			return nil
		}
		if trimmed == "" {
			if line != "" {
				p.fail()
				return nil
			}
			blank++
			p.take()
			continue
		}
		if len(line)-len(trimmed) < own {
			break
		}
		for ; blank > 0; blank-- {
			out.WriteByte('\n')
		}
		out.WriteString(line[own:])
		out.WriteByte('\n')
		p.take()
	}
	literal.Text = out.String()
	if header == "|-" {
		literal.Text = strings.TrimSuffix(literal.Text, "\n")
	}
	p.next()
	return literal
}
