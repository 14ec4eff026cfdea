package frontmatter

import (
	"strings"
	"unicode/utf8"
)

// simpleParser parses the YAML that most people and programs write: block mappings and sequences, scalars that are plain, quoted or literal,
// and sequences and mappings of these in brackets on one line. It takes less than a tenth of the time of the library. The library is the reference:
// parse returns false for every text that simpleParser might parse differently. Such texts have anchors, tags, escapes, unusual keys,
// comments that the tree must keep, or invalid YAML.
//
// The state of the parser is the current line, which is neither blank nor a comment, and the text after that line.
type simpleParser struct {
	text   string // the text after the current line
	line   string // the current line without its indentation and trailing spaces
	indent int    // indentation of the current line
	number int    // number of the current line
	gap    bool   // whether blank lines or comments precede the current line
	done   bool   // whether there is no further line
	failed bool   // whether the text has turned out not to be simple
	depth  int    // number of levels by which sequences and mappings may still be nested

	withoutComments bool

	nodes    []Node  // slab from which nodes are allocated: elements beyond its length are unused
	links    []*Node // slab from which lists of children are allocated
	children []*Node // stack of the children that incomplete nodes have so far
}

// maxSimpleDepth is the maximum nesting of sequences and mappings, which also bounds the recursion.
const maxSimpleDepth = 32

// parse returns the root of the only document in text. The tree overwrites the tree of the call before.
func (p *simpleParser) parse(text string, options Options) (*Node, bool) {
	if text == "" || !isSimpleText(text) {
		return nil, false
	}
	p.nodes, p.links, p.children = p.nodes[:0], p.links[:0], p.children[:0]
	p.text, p.number, p.depth, p.withoutComments = text, options.Line-1, min(options.Depth, maxSimpleDepth), options.WithoutComments
	p.done, p.failed = false, false
	if p.next(); p.done || p.indent != 0 {
		return nil, false
	}
	root := p.block(0)
	return root, !p.failed && p.done
}

// isSimpleText reports whether text has only characters that need no special handling. The only permitted control character is the line
// feed, so tabs and carriage returns are excluded. Other line separators and byte-order marks are excluded too.
func isSimpleText(text string) bool {
	for i := 0; i < len(text); {
		for len(text)-i >= 8 && isSimpleWord(text, i) {
			i += 8
		}
		if i == len(text) {
			break
		}
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case r == '\n', ' ' <= r && r < 0x7f:
		case r == utf8.RuneError, r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xfff0 && r <= 0xffff, r > 0xffff && r&0xfffe == 0xfffe:
			return false
		}
		i += size
	}
	return true
}

// isSimpleWord reports whether the eight bytes of s from index i on are printable ASCII characters or line feeds. It tests all of them at a
// time, which is several times as fast as a loop.
func isSimpleWord(s string, i int) bool {
	const (
		each = 0x0101010101010101
		top  = 0x80 * each
	)
	s = s[i : i+8]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	if w&top != 0 || (w+each)&top != 0 { // a byte is above ASCII, or is DEL
		return false
	}
	control := ^(w + (0x80-' ')*each) & top
	newline := ^((w ^ '\n'*each) + 0x7f*each) & top
	return control == newline
}

// next moves to the next line that is neither blank nor a comment.
func (p *simpleParser) next() {
	for p.gap = false; p.text != ""; p.gap = true {
		line := p.take()
		start, end := 0, len(line)
		for start < end && line[start] == ' ' {
			start++
		}
		if start == end {
			continue
		}
		for line[end-1] == ' ' {
			end--
		}
		p.line, p.indent = line[start:end], start
		switch p.line[0] {
		case '#':
			if p.withoutComments {
				continue
			}
			p.fail()
		case '-', '.', '%': // the library parses texts with a document marker or a directive
			if start == 0 && (p.line[0] == '%' || strings.HasPrefix(p.line, "---") || strings.HasPrefix(p.line, "...")) {
				p.fail()
			}
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

// maxSlab is the maximum number of nodes that are allocated at once.
const maxSlab = 512

func (p *simpleParser) node(kind Kind, style Style, text string, column int) *Node {
	if len(p.nodes) == cap(p.nodes) {
		rest := p.text[:min(len(p.text), 16*maxSlab)]
		p.nodes = make([]Node, 0, min(maxSlab, 4+2*strings.Count(rest, "\n")+cap(p.nodes)))
	}
	p.nodes = p.nodes[:len(p.nodes)+1]
	n := &p.nodes[len(p.nodes)-1]
	if n.Children != nil || n.Tag != "" || n.Anchor != "" || n.Target != nil || n.Comments != nil { // the node is one of the tree before
		*n = Node{}
	}
	n.Kind, n.Style, n.Text, n.Line, n.Column = kind, style, text, p.number, column+1
	return n
}

// open enters a sequence or mapping. Its children are those that are on the stack from the returned index on.
func (p *simpleParser) open() int {
	if p.depth--; p.depth < 0 {
		p.fail()
	}
	return len(p.children)
}

// close moves the children from the index first on from the stack to n.
func (p *simpleParser) close(n *Node, first int) *Node {
	p.depth++
	count := len(p.children) - first
	if count == 0 {
		return n
	}
	if cap(p.links)-len(p.links) < count {
		p.links = make([]*Node, 0, max(count, cap(p.nodes)))
	}
	from := len(p.links)
	p.links = append(p.links, p.children[first:]...)
	n.Children = p.links[from:len(p.links):len(p.links)]
	p.children = p.children[:first]
	return n
}

// block parses the mapping or sequence that begins on the current line. Its lines are indented by indent.
func (p *simpleParser) block(indent int) *Node {
	isSequence := isItem(p.line)
	block := p.node(Mapping, Plain, "", indent)
	if isSequence {
		block.Kind = Sequence
	}
	first := p.open()
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
	return p.close(block, first)
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
	key, length := p.key(p.line, indent)
	if length == 0 {
		p.fail()
		return
	}
	var value *Node
	behind := indent + length // the column behind the colon
	if key.Style != Plain {
		behind = indent + utf8.RuneCountInString(p.line[:length])
	}
	rest, column := p.line[length:], behind
	for rest != "" && rest[0] == ' ' {
		rest, column = rest[1:], column+1
	}
	if p.isEnd(rest) {
		value = p.nested(indent, behind)
	} else {
		value = p.value(rest, column, indent)
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
	}
	return p.block(p.indent)
}

// key parses the simple key with which text begins. It returns the length of the key and its colon, or 0 if there is no such key.
func (p *simpleParser) key(text string, column int) (*Node, int) {
	length := keyLength(text)
	switch {
	case length == 0:
		return nil, 0
	case isQuote(text[0]):
		key, _ := p.quoted(text, column)
		return key, length
	}
	return p.node(Scalar, Plain, text[:length-1], column), length
}

// maxKey is the maximum length of a simple key. The library has a greater one.
const maxKey = 128

// keyLength returns the length of the simple key with which text begins, and of the colon behind it; 0 if text does not begin with such a key.
func keyLength(text string) int {
	n := 0
	if isQuote(text[0]) {
		n = quotedLength(text)
	} else {
		for n < len(text) && (isAlphanumeric(text[n]) || n > 0 && strings.IndexByte("-./", text[n]) >= 0) {
			n++
		}
	}
	if n == 0 || n > maxKey || n == len(text) || text[n] != ':' || n+1 < len(text) && text[n+1] != ' ' {
		return 0
	}
	return n + 1
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
