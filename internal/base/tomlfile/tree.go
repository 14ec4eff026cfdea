package tomlfile

import (
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2/unstable"
)

// node is a value with its line. The tree of nodes has the lines and the order of the file, which the decoder does not
// provide; attach adds the decoder's values.
type node struct {
	kind    kind
	line    int
	file    string // the file that contains the node; empty: the document's own
	value   any    // value of a scalar: string, int64, float64, bool or time.Time
	entries []entry
	index   map[string]int // from a key to its index in entries; nil up to fewEntries entries
	items   []*node
}

type entry struct {
	key  string
	line int
	node *node
}

type kind int

const (
	scalar kind = iota
	table
	array
)

// fewEntries is the number of entries up to which a linear search is faster than a map.
const fewEntries = 12

func (n *node) get(key string) *node {
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return n.entries[i].node
		}
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].node
		}
	}
	return nil
}

func (n *node) add(key string, child *node) *node {
	n.entries = append(n.entries, entry{key: key, line: child.line, node: child})
	switch {
	case n.index != nil:
		n.index[key] = len(n.entries) - 1
	case len(n.entries) > fewEntries:
		n.index = make(map[string]int, 2*fewEntries)
		for i, e := range n.entries {
			n.index[e.key] = i
		}
	}
	return child
}

// attach sets the values of all scalars below n. It returns the node whose structure differs from value, or nil.
func (n *node) attach(value any) *node {
	switch n.kind {
	case table:
		m, ok := value.(map[string]any)
		if !ok || len(m) != len(n.entries) {
			return n
		}
		for _, e := range n.entries {
			v, ok := m[e.key]
			if !ok {
				return e.node
			}
			if bad := e.node.attach(v); bad != nil {
				return bad
			}
		}
	case array:
		return n.attachItems(value)
	default:
		switch value.(type) {
		case map[string]any, []any, []map[string]any, nil:
			return n
		}
		n.value = value
	}
	return nil
}

func (n *node) attachItems(value any) *node {
	var at func(int) any
	length := -1
	switch v := value.(type) {
	case []any:
		at, length = func(i int) any { return v[i] }, len(v)
	case []map[string]any:
		at, length = func(i int) any { return v[i] }, len(v)
	}
	if length != len(n.items) {
		return n
	}
	for i, item := range n.items {
		if bad := item.attach(at(i)); bad != nil {
			return bad
		}
	}
	return nil
}

// builder makes the tree from the parser's expressions.
type builder struct {
	lines lines
	root  *node
	here  *node // the table of the last header
	path  int   // length of the current key's path
	text  int   // total length of all paths so far
	// conflict is the first conflicting key. It is reported only if the decoder accepts the file, because the decoder's
	// message is better.
	conflict *syntaxError
}

func (b *builder) build(data []byte) *syntaxError {
	b.root = &node{kind: table}
	b.here = b.root
	var p unstable.Parser
	p.Reset(data)
	for b.conflict == nil && p.NextExpression() {
		if err := b.expression(p.Expression()); err != nil {
			return err
		}
	}
	if err := p.Error(); err != nil {
		return b.parseError(data, err)
	}
	return nil
}

func (b *builder) parseError(data []byte, err error) *syntaxError {
	out := &syntaxError{what: "is not TOML: " + err.Error()}
	var perr *unstable.ParserError
	if errors.As(err, &perr) && perr.Highlight != nil {
		// The highlight is a subslice of data, so the difference of their capacities is its offset.
		if off := cap(data) - cap(perr.Highlight); off >= 0 && off <= len(data) {
			out.line = b.lines.of(off)
		}
	}
	return out
}

func (b *builder) expression(e *unstable.Node) *syntaxError {
	switch e.Kind {
	case unstable.Table, unstable.ArrayTable:
		return b.heading(e)
	case unstable.KeyValue:
		return b.keyValue(b.here, e)
	}
	return nil
}

func (b *builder) heading(e *unstable.Node) *syntaxError {
	b.path = 0
	parent, last, line, err := b.descend(b.root, e.Key())
	if err != nil || parent == nil {
		return err
	}
	n := parent.get(last)
	switch {
	case e.Kind == unstable.Table && n == nil:
		n = parent.add(last, &node{kind: table, line: line})
	case e.Kind == unstable.ArrayTable:
		if n == nil {
			n = parent.add(last, &node{kind: array, line: line})
		}
		if n.kind == array {
			n.items = append(n.items, &node{kind: table, line: line})
			n = n.items[len(n.items)-1]
		}
	}
	if n.kind != table {
		b.addConflict(line, last)
		return nil
	}
	b.here = n
	return nil
}

func (b *builder) keyValue(in *node, e *unstable.Node) *syntaxError {
	defer func(path int) { b.path = path }(b.path)
	parent, last, line, err := b.descend(in, e.Key())
	if err != nil || parent == nil {
		return err
	}
	if parent.get(last) != nil {
		b.addConflict(line, last)
		return nil
	}
	n, err := b.value(e.Value(), line)
	if err != nil {
		return err
	}
	parent.add(last, n)
	return nil
}

func (b *builder) value(v *unstable.Node, line int) (*node, *syntaxError) {
	if v.Raw.Length > 0 {
		line = b.lines.of(int(v.Raw.Offset))
	}
	n := &node{line: line}
	switch v.Kind {
	case unstable.Array:
		n.kind = array
		for it := v.Children(); it.Next(); {
			item, err := b.value(it.Node(), line)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	case unstable.InlineTable:
		n.kind = table
		for it := v.Children(); it.Next(); {
			if err := b.keyValue(n, it.Node()); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// descend follows a dotted key from n and creates missing tables. It returns the table of the last part, that part and its
// line, or a nil table after a conflict.
func (b *builder) descend(n *node, key unstable.Iterator) (*node, string, int, *syntaxError) {
	for parts := 1; key.Next(); parts++ {
		k := key.Node()
		line := b.lines.of(int(k.Raw.Offset))
		if len(k.Data) > maxKeyLen || parts > maxKeyParts {
			return nil, "", 0, &syntaxError{line: line, what: fmt.Sprintf(
				"has a key with more than %d parts, or a part longer than %d bytes", maxKeyParts, maxKeyLen)}
		}
		b.path += len(k.Data) + 1
		if b.text += b.path; b.text > maxPathText {
			return nil, "", 0, &syntaxError{line: line, what: "has too many keys with long paths"}
		}
		name := string(k.Data)
		if key.IsLast() {
			return n, name, line, nil
		}
		next := n.get(name)
		if next == nil {
			next = n.add(name, &node{kind: table, line: line})
		}
		if next.kind == array && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		if next.kind != table {
			b.addConflict(line, name)
			return nil, "", 0, nil
		}
		n = next
	}
	return nil, "", 0, nil
}

func (b *builder) addConflict(line int, key string) {
	if b.conflict == nil {
		b.conflict = &syntaxError{line: line, what: fmt.Sprintf("has conflicting definitions of the key %s", Quote(key)),
			remedy: "keep one of them"}
	}
}
