package yaml11

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errNotInPlace means that a change would lose a comment, an anchor or the layout of other values.
var errNotInPlace = errors.New("the file's layout (comments, anchors or values over several lines) does not allow this change: edit the file by hand")

// Set replaces the value at path by value, and preserves all other bytes of the document. The value must have a type
// that Pair allows. Set creates missing mappings on the path, and replaces nulls on the path by mappings. An element of
// path that refers to a list is an index from 0; an index that equals the length of the list appends an item. After an
// error the document is unchanged.
func (d *Document) Set(value any, path ...string) error {
	encoded, err := Encode(Map{{"value", value}})
	if err != nil {
		return err
	}
	document, err := Parse(encoded, len(encoded))
	if err != nil {
		return err
	}
	want, err := replaced(d.root, document.Root().Field("value").node, nil, path)
	if err != nil {
		return err
	}
	text := edit(d.data, value, path, want)
	if text == nil {
		return errNotInPlace
	}
	d.root, d.data = want, text
	return nil
}

// replaced returns a copy of the node "in", with value at path. The copy shares unchanged nodes with the node "in".
func replaced(in, value *node, done, path []string) (*node, error) {
	if len(path) == 0 {
		return value, nil
	}
	if in == nil || in.kind == Null {
		in = &node{kind: Mapping}
	}
	key, place := path[0], -1
	switch n, err := strconv.Atoi(key); {
	case in.kind == Mapping:
		place = lastValue(in, key)
	case in.kind == List && err == nil && n >= 0 && n <= len(in.items):
		place = n
	default:
		return nil, fmt.Errorf("%s is not a mapping", strings.Join(done, "."))
	}
	to := *in
	to.items = slices.Clone(in.items)
	var old *node
	switch {
	case place < 0: // the key is absent, or comes from a merged mapping
		old, place = Value{node: in}.Field(key).node, len(to.items)+1
		to.items = append(to.items, &node{kind: Text, text: key}, nil)
	case place == len(to.items):
		to.items = append(to.items, nil)
	default:
		old = to.items[place]
	}
	below, err := replaced(old, value, append(done, key), path[1:])
	to.items[place] = below
	return &to, err
}

// lastValue returns the index of the value of a key that the mapping itself contains; -1 if the mapping does not
// contain the key.
func lastValue(mapping *node, key string) int {
	for i := len(mapping.items) - 2; i >= 0; i -= 2 {
		if name := mapping.items[i]; name.kind != merge && name.text == key {
			return i + 1
		}
	}
	return -1
}

// equal reports whether two values are equal. The argument seen contains the pairs of nodes whose comparison has
// already started.
func equal(a, b *node, seen map[[2]*node]bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	if pair := [2]*node{a, b}; seen[pair] {
		return true
	} else {
		seen[pair] = true
	}
	return a.kind == b.kind && (a.text == b.text || a.kind == Null) && slices.EqualFunc(a.items, b.items, func(a, b *node) bool { return equal(a, b, seen) })
}
