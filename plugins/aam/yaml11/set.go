package yaml11

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
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
func replaced(in, value *frontmatter.Node, done, path []string) (*frontmatter.Node, error) {
	if len(path) == 0 {
		return value, nil
	}
	if in = in.Resolve(); in == nil || kindOf(in) == Null {
		in = &frontmatter.Node{Kind: frontmatter.Mapping}
	}
	key, place := path[0], -1
	switch n, err := strconv.Atoi(key); {
	case in.Kind == frontmatter.Mapping:
		place = placeOf(in, key)
	case in.Kind == frontmatter.Sequence && err == nil && n >= 0 && n <= len(in.Children):
		place = n
	default:
		return nil, fmt.Errorf("%s is not a mapping", strings.Join(done, "."))
	}
	to := *in
	to.Children = slices.Clone(in.Children)
	var old *frontmatter.Node
	switch {
	case place < 0: // the key is absent, or comes from a merged mapping
		old, place = Value{node: in}.Field(key).node, len(to.Children)+1
		to.Children = append(to.Children, &frontmatter.Node{Text: key, Style: frontmatter.SingleQuoted}, nil)
	case place == len(to.Children):
		to.Children = append(to.Children, nil)
	default:
		old = to.Children[place]
	}
	below, err := replaced(old, value, append(done, key), path[1:])
	to.Children[place] = below
	return &to, err
}

// equal reports whether two values are equal. The argument seen contains the pairs of nodes whose comparison has
// already started.
func equal(a, b *frontmatter.Node, seen map[[2]*frontmatter.Node]bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	if isMerge(a) != isMerge(b) {
		return false
	}
	a, b = a.Resolve(), b.Resolve()
	if pair := [2]*frontmatter.Node{a, b}; seen[pair] {
		return true
	} else {
		seen[pair] = true
	}
	kind := kindOf(a)
	return kind == kindOf(b) && (a.Text == b.Text || kind == Null) &&
		slices.EqualFunc(a.Children, b.Children, func(a, b *frontmatter.Node) bool { return equal(a, b, seen) })
}
