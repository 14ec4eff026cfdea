package yaml11

// loadBlock parses a document in the simple style; false where the library has to.
func loadBlock(data []byte) (*node, bool) {
	b := block{}
	b.reset(data, string(data))
	if b.indent != 0 || isItem(b.content) {
		return nil, false
	}
	root := b.mapping(0)
	return root, b.done()
}

// blockDepth bounds the nesting of collections. The library's bound is higher and counts differently: deeper documents
// are left to it.
const blockDepth = 32

// block is the parser of the simple style.
type block struct {
	lines
	depth int     // of the collection that is being parsed
	open  []*node // items of the collections that are being parsed
	nodes []node  // allocated together, which is much faster
	links []*node // as nodes, for the items of collections
}

// reset makes the next document, which may overwrite the nodes of the one before. The text is what data holds.
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

// openCollection returns a new collection, and where its items begin in b.open.
func (b *block) openCollection(kind Kind) (*node, int) {
	if b.depth++; b.depth > blockDepth {
		b.unsure = true
	}
	return b.node(kind, "", b.number), len(b.open)
}

// close moves the items from begin on into the collection. A deeper line that follows belongs to no value.
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
		b.advance()
		value := b.value(rest, indent, number)
		b.open = append(b.open, value)
	}
	return b.close(n, begin, indent)
}

// value parses what follows a key, on its line or below it.
func (b *block) value(rest string, indent, number int) *node {
	switch {
	case rest != "" && rest[0] == '[' && rest != "[]":
		return b.words(rest, number)
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

// words parses a list between brackets.
func (b *block) words(text string, number int) *node {
	list, ok := words(text)
	b.unsure = b.unsure || !ok
	n := b.node(List, "", number)
	for _, word := range list {
		n.items = append(n.items, b.node(Text, word, number))
	}
	return n
}

func (b *block) list(indent int) *node {
	n, begin := b.openCollection(List)
	for b.indent == indent && isItem(b.content) && !b.unsure {
		b.open = append(b.open, b.item(indent))
	}
	return b.close(n, begin, indent)
}

// item parses an item of a list whose dashes are at indent.
func (b *block) item(indent int) *node {
	b.skipDash()
	if !isPlainItem(b.content) {
		b.unsure = true
		return nil
	}
	if _, _, isKey := readKey(b.content); isKey {
		return b.mapping(indent + 2)
	}
	number, content := b.number, b.content
	b.advance()
	kind, text := b.scalar(content, indent)
	return b.node(kind, text, number)
}
