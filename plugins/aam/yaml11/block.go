package yaml11

import (
	"bytes"
	"strings"
)

// loadBlock parses a document in the simple style, which the type lines describes. It returns false if only the YAML
// library can parse the document.
func loadBlock(data []byte) (*node, bool) {
	b := block{}
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(bytes.Clone(data), '\n') // an additional final newline changes no value in the simple style
	}
	b.reset(data, string(data))
	if b.indent != 0 || isItem(b.content) {
		return nil, false
	}
	root := b.mapping(0)
	return root, b.done()
}

// blockDepth is the maximum nesting depth of collections. The library parses deeper documents, and has a limit of its
// own.
const blockDepth = 32

// block is the parser of the simple style.
type block struct {
	lines
	depth int     // the nesting depth of the current collection
	open  []*node // the items of all collections that are being parsed
	nodes []node  // a block of memory from which nodes are taken, because single allocations are much slower
	links []*node // a block of memory from which the items of collections are taken
}

// reset prepares the parser for the next document. The parser may then overwrite the nodes of the previous document.
// The argument "text" must equal string(data).
func (b *block) reset(data []byte, text string) {
	b.lines.reset(data, text)
	b.depth, b.open = 0, b.open[:0]
	b.nodes, b.links = b.nodes[:0], b.links[:0]
}

func (b *block) node(kind Kind, text string, number int) *node {
	if len(b.nodes) == cap(b.nodes) {
		b.nodes = make([]node, 0, min(512, 2+(len(b.text)-b.begin)/8))
	}
	b.nodes = append(b.nodes, node{kind: kind, text: text, line: number})
	return &b.nodes[len(b.nodes)-1]
}

// openCollection returns a new collection, and the index in b.open at which the items of the collection begin.
func (b *block) openCollection(kind Kind) (*node, int) {
	if b.depth++; b.depth > blockDepth {
		b.unsure = true
	}
	return b.node(kind, "", b.number), len(b.open)
}

// close moves the items in b.open from the index begin on to the collection n. If the next line is indented deeper than
// the collection, the document is not in the simple style.
func (b *block) close(n *node, begin, indent int) *node {
	if b.indent > indent {
		b.unsure = true
	}
	b.depth--
	items := b.open[begin:]
	if cap(b.links)-len(b.links) < len(items) {
		b.links = make([]*node, 0, max(len(items), cap(b.nodes)))
	}
	from := len(b.links)
	b.links = append(b.links, items...)
	n.items = b.links[from:len(b.links):len(b.links)]
	b.open = b.open[:begin]
	return n
}

func (b *block) mapping(indent int) *node {
	n, begin := b.openCollection(Mapping)
	for b.indent == indent && !isItem(b.content) && !b.unsure {
		key, rest, ok := readKey(b.content)
		if !ok {
			b.unsure = true
			break
		}
		number := b.number
		b.open = append(b.open, b.node(Text, key, number))
		value := b.value(b.finish(rest), indent, number)
		b.open = append(b.open, value)
	}
	return b.close(n, begin, indent)
}

// value parses the value of a key. The argument "rest" is the text after the key on the same line.
func (b *block) value(rest string, indent, number int) *node {
	switch {
	case rest != "" && rest[0] == '[' && rest != "[]", rest != "" && rest[0] == '{' && rest != "{}":
		return b.flow(rest, number)
	case rest != "":
		kind, text := b.scalar(rest, indent)
		return b.node(kind, text, number)
	case isItem(b.content) && b.indent >= indent:
		return b.list(b.indent)
	case b.indent > indent:
		return b.mapping(b.indent)
	}
	return b.node(Null, "", number)
}

// flow parses a list or mapping of scalars that is written on one line between brackets or braces.
func (b *block) flow(text string, number int) *node {
	n, closing := b.node(List, "", number), "]"
	if text[0] == '{' {
		n.kind, closing = Mapping, "}"
	}
	inner, ok := strings.CutSuffix(text[1:], closing)
	for _, word := range strings.Split(inner, ", ") {
		if n.kind == Mapping && ok {
			var key string
			if key, word, ok = readFlowKey(word); ok {
				n.items = append(n.items, b.node(Text, key, number))
			}
		}
		if !ok {
			break
		}
		var kind Kind
		if kind, word, ok = flowScalar(word); ok {
			n.items = append(n.items, b.node(kind, word, number))
		}
	}
	b.unsure = b.unsure || !ok
	return n
}

func (b *block) list(indent int) *node {
	n, begin := b.openCollection(List)
	for b.indent == indent && isItem(b.content) && !b.unsure {
		b.open = append(b.open, b.item(indent))
	}
	return b.close(n, begin, indent)
}

// item parses an item of a list whose dashes have the indentation indent.
func (b *block) item(indent int) *node {
	b.skipDash()
	if !isPlainItem(b.content) {
		b.unsure = true
		return nil
	}
	if _, _, isKey := readKey(b.content); isKey {
		return b.mapping(indent + 2)
	}
	number := b.number
	content := b.finish(b.content)
	switch {
	case content == "":
		b.unsure = true
		return nil
	case content[0] == '[' && content != "[]", content[0] == '{' && content != "{}":
		return b.flow(content, number)
	}
	kind, text := b.scalar(content, indent)
	return b.node(kind, text, number)
}
