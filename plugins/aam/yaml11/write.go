package yaml11

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Encode writes a document in the style of the system's own programs: blocks, dashes under their key, long
// texts folded, and quotes where a text would else be read as something different.
func Encode(m Map) ([]byte, error) {
	node, err := newNode(m)
	if err != nil {
		return nil, err
	}
	return dump(node)
}

// chunk is how many items EncodeList writes at once.
const chunk = 100

// EncodeList writes a mapping whose only key has a list, as Encode would, in much less memory where it is long.
func EncodeList(key string, items []Map) ([]byte, error) {
	if len(items) == 0 {
		return Encode(Map{{key, []any{}}})
	}
	out := []byte(key + ":\n")
	for part := range slices.Chunk(items, chunk) {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range part {
			node, err := newNode(item)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, node)
		}
		data, err := dump(list)
		if err != nil {
			return nil, err
		}
		out = append(out, data...)
	}
	return out, nil
}

func dump(node *yaml.Node) ([]byte, error) { return dumpWidth(node, 80) }

func dumpWidth(node *yaml.Node, width int) ([]byte, error) {
	data, err := dumpPlain(node, width)
	if err == nil && bytes.Contains(data, []byte(`\U`)) { // how an escape begins, though not only that
		if s := newStandIns(node); s != nil {
			return s.dump(node, width)
		}
	}
	return data, err
}

func dumpPlain(node *yaml.Node, width int) ([]byte, error) {
	var out bytes.Buffer
	dumper, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithLineWidth(width))
	if err != nil {
		return nil, err
	}
	if err := dumper.Dump(node); err != nil {
		return nil, err
	}
	if err := dumper.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func newNode(value any) (*yaml.Node, error) {
	switch value := value.(type) {
	case nil:
		return scalar("!!null", "null"), nil
	case bool:
		return scalar("!!bool", strconv.FormatBool(value)), nil
	case int:
		return scalar("!!int", strconv.Itoa(value)), nil
	case int64:
		return scalar("!!int", strconv.FormatInt(value, 10)), nil
	case string:
		return newText(value), nil
	case []string:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = item
		}
		return newNode(items)
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range value {
			node, err := newNode(item)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, node)
		}
		return list, nil
	case Map:
		mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, pair := range value {
			node, err := newNode(pair.Value)
			if err != nil {
				return nil, err
			}
			mapping.Content = append(mapping.Content, newText(pair.Key), node)
		}
		return mapping, nil
	}
	return nil, fmt.Errorf("no YAML is written for a %T", value)
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// newText is a text in the quotes that it needs. The library leaves out those that YAML 1.2 does not need.
func newText(text string) *yaml.Node {
	node := scalar("!!str", text)
	switch {
	case strings.ContainsAny(text, "\t\r\x00") || text != strings.ToValidUTF8(text, ""):
		node.Style = yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n"), plainKind(text) != Text, text == "=", text == "<<":
		node.Style = yaml.SingleQuotedStyle
	}
	return node
}

// Set makes value, of one of the kinds in a Pair, that of the key at the end of path. The mappings on the
// way are made where they are absent or null; anything else there is an error. In a list, the item of that number from 0
// has the place of a key's value, and the number behind the last makes one more.
func (d *Document) Set(value any, path ...string) error {
	if err := d.loadForWriting(); err != nil {
		return err
	}
	if err := d.setInTree(value, path); err != nil {
		return err
	}
	if d.written {
		return nil
	}
	text, ok := editText(d.data, value, path, compose(d.tree, map[*yaml.Node]*node{}))
	if ok {
		d.data = text
	}
	d.written = !ok
	return nil
}

func (d *Document) setInTree(value any, path []string) error {
	node, err := newNode(value)
	if err != nil {
		return err
	}
	if d.tree == nil || d.tree.Kind == yaml.ScalarNode && scalarKind(d.tree) == Null {
		d.tree = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	at := d.tree
	for i, key := range path {
		place := findPlace(at, key)
		switch {
		case at.Kind == yaml.MappingNode && place < 0:
			from := scalar("!!null", "null")
			if has := merged(at, key); has != nil && i < len(path)-1 {
				from = copied(has)
			}
			at.Content = append(at.Content, newText(key), from)
			place = len(at.Content) - 1
		case at.Kind == yaml.SequenceNode && key == strconv.Itoa(len(at.Content)):
			at.Content = append(at.Content, scalar("!!null", "null"))
			place = len(at.Content) - 1
		case at.Kind != yaml.MappingNode && place < 0:
			return fmt.Errorf("%s is not a mapping", strings.Join(path[:i], "."))
		}
		if i == len(path)-1 {
			keepComments(node, at.Content[place])
			at.Content[place] = node
			return nil
		}
		next := unshared(at.Content[place])
		if next.Kind == yaml.ScalarNode && scalarKind(next) == Null {
			next = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		at.Content[place] = next
		at = next
	}
	return nil
}

// loadForWriting has the document read by the library, which knows how it is written.
func (d *Document) loadForWriting() (err error) {
	if d.whole == nil {
		if d.whole, err = loadDocument(d.data); d.whole != nil {
			d.tree = d.whole.Content[0]
		}
	}
	if d.whole == nil && err == nil {
		d.whole = &yaml.Node{Kind: yaml.DocumentNode}
	}
	return err
}

// findKey returns the place of a key's value, of the last one; -1 for none.
func findKey(mapping *yaml.Node, key string) int {
	for i := len(mapping.Content) - 2; i >= 0; i -= 2 {
		if name := resolveAlias(mapping.Content[i]); name.Value == key && !isMerge(name) {
			return i + 1
		}
	}
	return -1
}

// unshared returns the node, or a copy of what an alias stands for, which others may stand for too.
func unshared(node *yaml.Node) *yaml.Node {
	if node.Kind != yaml.AliasNode {
		return node
	}
	return copied(resolveAlias(node))
}

// copied is a value of one's own. Aliases in it stand for what they did.
func copied(node *yaml.Node) *yaml.Node {
	to := yaml.Node{Kind: node.Kind, Style: node.Style, Tag: node.Tag, Value: node.Value, Alias: node.Alias}
	for _, item := range node.Content {
		to.Content = append(to.Content, copied(item))
	}
	return &to
}

// merged returns the value that a mapping has of another that it merges, nil if it has none.
func merged(mapping *yaml.Node, key string) *yaml.Node {
	for i := len(mapping.Content) - 2; i >= 0; i -= 2 {
		if !isMerge(mapping.Content[i]) {
			continue
		}
		from := []*yaml.Node{resolveAlias(mapping.Content[i+1])}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, other := range from {
			other = resolveAlias(other)
			if place := findKey(other, key); place >= 0 {
				return resolveAlias(other.Content[place])
			}
			if deeper := merged(other, key); deeper != nil {
				return deeper
			}
		}
	}
	return nil
}

func keepComments(to, from *yaml.Node) {
	to.HeadComment, to.LineComment, to.FootComment = from.HeadComment, from.LineComment, from.FootComment
}

// Encode writes the document: what was not set, as it was, comments and ends of lines included. Where the text cannot be
// changed in place, the library writes all of it. The result is then read back, so that an error comes of it, and not a
// file that cannot be read or says something else, if a value was replaced that an alias elsewhere stands for; and one
// also if a comment would be lost.
func (d *Document) Encode() ([]byte, error) {
	if err := d.loadForWriting(); err != nil {
		return nil, err
	}
	if !d.written {
		if d.tree == nil && len(d.data) == 0 {
			return Encode(Map{})
		}
		return d.withMark(d.data), nil
	}
	data, err := d.dumpWhole()
	if err != nil {
		return nil, err
	}
	left := comments(data)
	for _, comment := range comments(d.data) {
		at := slices.Index(left, comment)
		if at < 0 {
			return nil, errors.New("a comment would be lost by this change: the file has to be changed by hand")
		}
		left = slices.Delete(left, at, at+1)
	}
	return d.withMark(bytes.ReplaceAll(data, []byte("\n"), []byte(lineEnd(d.data)))), nil
}

// dumpWhole has the library write the document. Between brackets, it writes a null of which nothing is written as an empty
// text: then all are written as words.
func (d *Document) dumpWhole() ([]byte, error) {
	d.whole.Content = []*yaml.Node{d.tree}
	want := compose(d.tree, map[*yaml.Node]*node{})
	for _, words := range []bool{false, true} {
		if words {
			eachBlank(d.tree, func(n *yaml.Node) { n.Value = "null" })
		}
		data, err := dump(d.whole)
		if err != nil {
			return nil, err
		}
		got, err := Parse(data, len(data))
		if err != nil {
			return nil, fmt.Errorf("an anchor of this document does not allow this change: %w", err)
		}
		if equal(got.root, want, map[[2]*node]bool{}) {
			return data, nil
		}
	}
	return nil, errors.New("this change would change more than it is meant to: the file has to be changed by hand")
}

// eachBlank calls do for all nulls of which nothing is written, but for keys.
func eachBlank(n *yaml.Node, do func(*yaml.Node)) {
	if blank(n) {
		do(n)
	}
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			eachBlank(child, do)
		}
	}
}

// withMark returns a text with the byte-order mark that the document began with, if it did.
func (d *Document) withMark(data []byte) []byte {
	if d.mark {
		return append([]byte(byteOrderMark), data...)
	}
	return data
}
