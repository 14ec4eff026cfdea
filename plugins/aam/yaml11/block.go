package yaml11

// loadBlock reads a document in the plain style; false where the library has to.
func loadBlock(data []byte) (*node, bool) {
	b := block{lines: newLines(data)}
	if b.indent != 0 || isItem(b.content) {
		return nil, false
	}
	root := b.mapping(0)
	return root, b.done()
}

// blockDepth is how deep collections may lie in one another. The library has a bound of its own, which counts
// otherwise and is higher: what lies deeper is left to it.
const blockDepth = 32

// block is a document that is being read.
type block struct {
	*lines
	depth int     // how many collections are being read
	open  []*node // what is in the collections that are being read
	slab  []node  // nodes to be
}

// node returns a new one, of a number of them made at once, which is quicker by far.
func (b *block) node(kind Kind, text string, number int) *node {
	if len(b.slab) == 0 {
		b.slab = make([]node, min(512, 2+(len(b.text)-b.begin)/8))
	}
	n := &b.slab[0]
	b.slab = b.slab[1:]
	*n = node{kind: kind, text: text, line: number}
	return n
}

// beginOf begins a collection, and returns it with where its items do.
func (b *block) beginOf(kind Kind) (*node, int) {
	if b.depth++; b.depth > blockDepth {
		b.unsure = true
	}
	return b.node(kind, "", b.number), len(b.open)
}

// close makes what was opened since begin the items of a collection. What is deeper than them is of none.
func (b *block) close(n *node, begin, indent int) *node {
	if b.indent > indent {
		b.unsure = true
	}
	b.depth--
	n.items = append([]*node(nil), b.open[begin:]...)
	b.open = b.open[:begin]
	return n
}

// mapping reads the lines of a mapping.
func (b *block) mapping(indent int) *node {
	n, begin := b.beginOf(Mapping)
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

// value reads what stands behind a key, or below it.
func (b *block) value(rest string, indent, number int) *node {
	switch {
	case inBrackets(rest):
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

// words reads a list in brackets.
func (b *block) words(text string, number int) *node {
	list, ok := words(text)
	b.unsure = b.unsure || !ok
	n := b.node(List, "", number)
	for _, word := range list {
		n.items = append(n.items, b.node(Text, word, number))
	}
	return n
}

// list reads the lines of a list.
func (b *block) list(indent int) *node {
	n, begin := b.beginOf(List)
	for b.indent == indent && isItem(b.content) && !b.unsure {
		b.enter()
		if !plainItem(b.content) {
			b.unsure = true
			break
		}
		var item *node
		if _, _, isKey := readKey(b.content); isKey {
			item = b.mapping(indent + 2)
		} else {
			number, content := b.number, b.content
			b.advance()
			kind, text := b.scalar(content, indent)
			item = b.node(kind, text, number)
		}
		b.open = append(b.open, item)
	}
	return b.close(n, begin, indent)
}
