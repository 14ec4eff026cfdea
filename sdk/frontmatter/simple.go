package frontmatter

import (
	"strings"
	"unicode/utf8"
)

// parseSimple parses the YAML that most people write: block mappings and sequences of scalars in one line, literal block scalars, and flow
// sequences of scalars. It takes a fiftieth of the time of the library. The library is the reference: parseSimple returns false for every
// text that it might parse differently. Such texts have comments, anchors, tags, unusual keys, scalars of several lines, or invalid YAML.
func parseSimple(text string, options Options) (*Node, bool) {
	if text == "" || !isSimpleText(text) {
		return nil, false
	}
	p := simpleParser{text: text, number: options.Line - 1, depth: min(options.Depth, maxSimpleDepth)}
	p.nodes = make([]Node, 0, 4+2*strings.Count(text, "\n"))
	p.next()
	if p.done || p.indent != 0 {
		return nil, false
	}
	root := p.block(0)
	if p.failed || !p.done {
		return nil, false
	}
	return root, true
}

// maxSimpleDepth is the maximum nesting of blocks, which also bounds the recursion.
const maxSimpleDepth = 16

// isSimpleText reports whether text has only characters that need no special handling. The only permitted control character is the line
// feed, so tabs and carriage returns are excluded. Other line separators and byte-order marks are excluded too.
func isSimpleText(text string) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError, r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xfff0 && r <= 0xffff, r > 0xffff && r&0xfffe == 0xfffe:
			return false
		}
		i += size
	}
	return true
}

// simpleParser is the state of parseSimple: the current line, which is not blank, and the text after that line.
type simpleParser struct {
	text   string // the text after the current line
	line   string // the current line without its indentation and trailing spaces
	indent int    // indentation of the current line
	number int    // number of the current line
	done   bool   // whether there is no further line
	failed bool   // whether the text has turned out not to be simple
	depth  int    // number of levels by which blocks may still be nested

	nodes    []Node  // slab from which nodes are allocated: elements beyond its length are unused
	children []*Node // stack of the children that incomplete nodes have so far
}

// next moves to the next line that is not blank.
func (p *simpleParser) next() {
	for p.text != "" {
		line := p.take()
		p.line = strings.Trim(line, " ")
		if p.line == "" {
			continue
		}
		p.indent = strings.IndexByte(line, p.line[0])
		// The library parses texts with a comment, a document marker or a directive.
		if p.line[0] == '#' || strings.Contains(p.line, " #") || p.indent == 0 && (strings.HasPrefix(p.line, "---") || strings.HasPrefix(p.line, "...") || p.line[0] == '%') {
			p.fail()
		}
		return
	}
	p.done = true
}

// take removes the first line from the remaining text and returns that line.
func (p *simpleParser) take() string {
	line, rest, _ := strings.Cut(p.text, "\n")
	p.text = rest
	p.number++
	return line
}

// fail gives up, so that the library parses the text.
func (p *simpleParser) fail() { p.failed, p.done, p.text = true, true, "" }

func (p *simpleParser) node(kind Kind, style Style, text string, column int) *Node {
	if len(p.nodes) == cap(p.nodes) {
		p.nodes = make([]Node, 0, 32)
	}
	p.nodes = append(p.nodes, Node{Kind: kind, Style: style, Text: text, Line: p.number, Column: column + 1})
	return &p.nodes[len(p.nodes)-1]
}

// block parses the mapping or sequence that begins on the current line. Its lines are indented by indent.
func (p *simpleParser) block(indent int) *Node {
	if p.depth--; p.depth < 0 {
		p.fail()
	}
	defer func() { p.depth++ }()
	if p.failed {
		return nil
	}
	isSequence := isItem(p.line)
	block := p.node(Mapping, Plain, "", indent)
	if isSequence {
		block.Kind = Sequence
	}
	first := len(p.children)
	for !p.done && p.indent == indent && isItem(p.line) == isSequence {
		if isSequence {
			p.children = append(p.children, p.item(indent))
		} else {
			p.entry(indent)
		}
	}
	if !p.done && p.indent > indent {
		p.fail() // the line continues a scalar, or is an error
	}
	block.Children = append(make([]*Node, 0, len(p.children)-first), p.children[first:]...)
	p.children = p.children[:first]
	return block
}

func isItem(line string) bool { return strings.HasPrefix(line, "- ") }

// item parses one item of a sequence.
func (p *simpleParser) item(indent int) *Node {
	p.line = p.line[2:]
	at := indent + 2
	for p.line[0] == ' ' { // the loop ends within the line, which has no trailing spaces
		p.line, at = p.line[1:], at+1
	}
	if isItem(p.line) || p.line == "-" {
		p.fail()
		return nil
	}
	if keyLength(p.line) > 0 {
		p.indent = at
		return p.block(at)
	}
	return p.value(p.line, at, indent)
}

// entry parses one entry of a mapping, and appends the key and the value to the children.
func (p *simpleParser) entry(indent int) {
	length := keyLength(p.line)
	if length == 0 {
		p.fail()
		return
	}
	key := p.node(Scalar, Plain, p.line[:length], indent)
	var value *Node
	if rest := p.line[length+1:]; rest != "" {
		trimmed := strings.TrimLeft(rest, " ")
		value = p.value(trimmed, indent+length+1+len(rest)-len(trimmed), indent)
	} else {
		value = p.nested(indent, indent+length+1)
	}
	p.children = append(p.children, key, value)
}

// nested parses the value below a key: a block, or null if there is no block.
func (p *simpleParser) nested(indent, column int) *Node {
	null := p.node(Scalar, Plain, "", column)
	p.next()
	switch {
	case p.done || p.indent < indent:
		return null
	case p.indent == indent && !isItem(p.line):
		return null
	case isItem(p.line) || keyLength(p.line) > 0:
		return p.block(p.indent)
	}
	p.fail()
	return nil
}

// keyLength returns the length of the simple plain key with which line begins; 0 if it does not begin with such a key.
func keyLength(line string) int {
	n := 0
	for n < len(line) && (isAlphanumeric(line[n]) || n > 0 && strings.IndexByte("-./", line[n]) >= 0) {
		n++
	}
	if n > 100 || n == len(line) || line[n] != ':' || n+1 < len(line) && line[n+1] != ' ' {
		return 0
	}
	return n
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// value parses the value of an entry of the block at indent. rest is the part of the line from column on. Then value moves to the next line.
func (p *simpleParser) value(rest string, column, indent int) *Node {
	var value *Node
	switch c := rest[0]; {
	case rest == "|" || rest == "|-":
		return p.literal(rest, column, indent)
	case c == '[' || c == '{':
		value = p.flow(rest, column)
	default:
		var length int
		if value, length = p.scalar(rest, column, false); length != len(rest) {
			p.fail()
		}
	}
	if p.next(); !p.done && p.indent > indent {
		p.fail() // the scalar continues on this line
	}
	return value
}

// scalar parses a scalar that is on one line, and returns its length in rest; 0 if the scalar is not simple.
func (p *simpleParser) scalar(rest string, column int, inFlow bool) (*Node, int) {
	switch c := rest[0]; c {
	case '\'':
		return p.singleQuoted(rest, column)
	case '"':
		return p.doubleQuoted(rest, column)
	}
	end := len(rest)
	if inFlow {
		if end = strings.IndexAny(rest, ",[]{}"); end < 0 {
			return nil, 0
		}
	}
	text := strings.TrimRight(rest[:end], " ")
	if text == "" || !isPlainStart(text) || strings.Contains(text, ": ") || strings.HasSuffix(text, ":") || inFlow && strings.IndexByte(text, ':') >= 0 {
		return nil, 0
	}
	return p.node(Scalar, Plain, text, column), end
}

// isPlainStart reports whether, in every context, a plain scalar can begin with text.
func isPlainStart(text string) bool {
	c := text[0]
	if c == '-' && len(text) > 1 {
		c = text[1]
	}
	return isAlphanumeric(c) || c >= utf8.RuneSelf || strings.IndexByte("./~+($", c) >= 0
}

func (p *simpleParser) singleQuoted(rest string, column int) (*Node, int) {
	escapes := false
	for i := 1; i < len(rest); i++ {
		if rest[i] != '\'' {
			continue
		}
		if i+1 < len(rest) && rest[i+1] == '\'' {
			escapes = true
			i++
			continue
		}
		text := rest[1:i]
		if escapes {
			text = strings.ReplaceAll(text, "''", "'")
		}
		return p.node(Scalar, SingleQuoted, text, column), i + 1
	}
	return nil, 0
}

func (p *simpleParser) doubleQuoted(rest string, column int) (*Node, int) {
	end := strings.IndexAny(rest[1:], `"\`) + 1
	if end == 0 || rest[end] == '\\' {
		return nil, 0
	}
	return p.node(Scalar, DoubleQuoted, rest[1:end], column), end + 1
}

// flow parses a sequence of scalars in brackets, or an empty mapping in braces.
func (p *simpleParser) flow(rest string, column int) *Node {
	if rest == "{}" {
		return p.node(Mapping, Flow, "", column)
	}
	sequence := p.node(Sequence, Flow, "", column)
	first := len(p.children)
	// Columns are counted in characters.
	at := 1
	column++
	skip := func(n int) {
		column += utf8.RuneCountInString(rest[at : at+n])
		at += n
	}
	for rest[0] == '[' && !p.failed {
		skip(len(rest[at:]) - len(strings.TrimLeft(rest[at:], " ")))
		if rest[at:] == "]" && len(p.children) == first {
			break
		}
		if at == len(rest) {
			p.fail()
			break
		}
		item, length := p.scalar(rest[at:], column, true)
		if length == 0 {
			p.fail()
			break
		}
		p.children = append(p.children, item)
		skip(length)
		skip(len(rest[at:]) - len(strings.TrimLeft(rest[at:], " ")))
		if rest[at:] == "]" {
			break
		}
		if !strings.HasPrefix(rest[at:], ",") {
			p.fail()
			break
		}
		skip(1)
	}
	if rest[0] != '[' || p.depth < 1 {
		p.fail()
	}
	sequence.Children = append([]*Node(nil), p.children[first:]...)
	p.children = p.children[:first]
	return sequence
}

// literal parses a literal block scalar, which begins below the current line.
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
	if p.next(); !p.done && p.indent > indent {
		p.fail()
	}
	return literal
}
