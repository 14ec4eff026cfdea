package yaml11

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// loadBlock reads a document in the plain style in which the system's own programs write: blocks of
// mappings and lists, texts without or in single quotes, nothing else. It returns false where there is anything
// that it does not know for sure, which is then the library's to read; else its result is the library's.
//
// It is here because a registry's index is a megabyte and more, which takes a module seconds by way of the library.
func loadBlock(data []byte) (*node, bool) {
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

// blockDepth is how deep collections may lie in one another. The library has a bound of its own, which counts
// otherwise and is higher: what lies deeper is left to it.
const blockDepth = 32

// block is a document that is being read.
type block struct {
	lines  []line
	at     int     // the next line
	unsure bool    // there was something that the library has to look at
	depth  int     // how many collections are being read
	open   []*node // what is in the collections that are being read
	slab   []node  // nodes to be
}

// next returns the next line; one without any indentation behind the last.
func (b *block) next() line {
	if b.at == len(b.lines) {
		return line{indent: -1}
	}
	return b.lines[b.at]
}

// node returns a new one, of a number of them made at once, which is quicker by far.
func (b *block) node(kind Kind, text string, number int) *node {
	if len(b.slab) == 0 {
		b.slab = make([]node, min(512, 2+2*(len(b.lines)-b.at)))
	}
	n := &b.slab[0]
	b.slab = b.slab[1:]
	*n = node{kind: kind, text: text, line: number + 1}
	return n
}

func (b *block) giveUp() *node {
	b.unsure = true
	return &node{}
}

// begin begins a collection, and returns it with where its items do.
func (b *block) begin(kind Kind) (*node, int) {
	if b.depth++; b.depth > blockDepth {
		b.unsure = true
	}
	return b.node(kind, "", b.at), len(b.open)
}

// close makes what was opened since begin the items of a collection.
func (b *block) close(n *node, begin int) *node {
	b.depth--
	n.items = append([]*node(nil), b.open[begin:]...)
	b.open = b.open[:begin]
	return n
}

// mapping reads the lines of a mapping.
func (b *block) mapping(indent int) *node {
	n, begin := b.begin(Mapping)
	for at := b.next(); at.indent == indent && !isItem(at.text) && !b.unsure; at = b.next() {
		key, rest, ok := readKey(at.text)
		if !ok {
			return b.giveUp()
		}
		b.open = append(b.open, b.node(Text, key, b.at))
		b.at++
		value := b.value(rest, indent)
		b.open = append(b.open, value)
	}
	if b.next().indent > indent {
		return b.giveUp()
	}
	return b.close(n, begin)
}

// value reads what stands behind a key, or below it.
func (b *block) value(rest string, indent int) *node {
	if rest != "" {
		return b.scalar(rest, indent)
	}
	switch next := b.next(); {
	case isItem(next.text) && next.indent >= indent:
		return b.list(next.indent)
	case next.indent > indent:
		return b.mapping(next.indent)
	}
	return b.node(Null, "", b.at-1)
}

// list reads the lines of a list.
func (b *block) list(indent int) *node {
	n, begin := b.begin(List)
	for at := b.next(); at.indent == indent && isItem(at.text) && !b.unsure; at = b.next() {
		inner := line{indent + 2, at.text[2:]}
		if inner.text[0] == ' ' || isItem(inner.text) || inner.text == "-" {
			return b.giveUp()
		}
		var item *node
		if _, _, isKey := readKey(inner.text); isKey {
			b.lines[b.at] = inner
			item = b.mapping(indent + 2)
		} else {
			b.at++
			item = b.scalar(inner.text, indent)
		}
		b.open = append(b.open, item)
	}
	if b.next().indent > indent {
		return b.giveUp()
	}
	return b.close(n, begin)
}

// readKey takes the key off a line; false if the line has none. All keys that it takes are texts.
func readKey(text string) (key, rest string, ok bool) {
	end := 0
	if text[0] == '\'' {
		if key, end, ok = quoted(text); !ok {
			return "", "", false
		}
	} else {
		for end < len(text) && wordByte(text[end]) {
			end++
		}
		if end == 0 || text[0] < 'A' { // a digit, a dot or a hyphen
			return "", "", false
		}
		if key = text[:end]; plainKind(key) != Text {
			return "", "", false
		}
	}
	if end > 128 || end == len(text) || text[end] != ':' {
		return "", "", false
	}
	if rest = text[end+1:]; rest == "" {
		return key, "", true
	}
	if len(rest) < 2 || rest[0] != ' ' || rest[1] == ' ' {
		return "", "", false
	}
	return key, rest[1:], true
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
		if value = text[1:i]; strings.IndexByte(value, '\'') >= 0 {
			value = strings.ReplaceAll(value, "''", "'")
		}
		return value, i + 1, true
	}
	return "", 0, false
}

// scalar reads a value that begins on the line before the next one, and may go on below.
func (b *block) scalar(text string, indent int) *node {
	number := b.at - 1
	switch {
	case text == "[]":
		return b.node(List, "", number)
	case text == "{}":
		return b.node(Mapping, "", number)
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
	kind := plainKind(text)
	if text == "=" || text == "<<" || kind == Time && !realTime(text) {
		return b.giveUp()
	}
	return b.node(kind, text, number)
}

func (b *block) quotedScalar(text string, indent, number int) *node {
	for {
		value, end, ok := quoted(text)
		if ok && end == len(text) {
			return b.node(Text, value, number)
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
