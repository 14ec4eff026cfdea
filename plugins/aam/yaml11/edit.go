package yaml11

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// editor changes a text where one value stands in it, and nowhere else. Each way of doing so is a guess by where the
// library says that values begin; what comes of it counts only if it reads as what was wanted.
type editor struct {
	text  []byte
	lines []int // where each begins
	want  *node
}

// editText returns a text that says want, which is what it says with value at path; false if no way was found.
func editText(text []byte, value any, path []string, want *node) ([]byte, bool) {
	root, err := load(text)
	if err != nil {
		return nil, false
	}
	e := &editor{text: text, lines: []int{0}, want: want}
	for at, c := range text {
		if c == '\n' {
			e.lines = append(e.lines, at+1)
		}
	}
	edited := e.set(root, value, path)
	return edited, edited != nil
}

// fits returns a text that says what is wanted, nil for another.
func (e *editor) fits(text []byte) []byte {
	got, err := Parse(text, len(text))
	if err != nil || !equal(got.root, e.want, map[[2]*node]bool{}) {
		return nil
	}
	return text
}

// equal tells whether two values are the same. Seen are those that were compared, or are being.
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

// set returns the text with value at path, nil if it cannot be put there. Mappings on the way are there, or null.
func (e *editor) set(root *yaml.Node, value any, path []string) []byte {
	if root == nil || blank(root) {
		return e.insert(content(path, value), 0, len(e.lines), e.contentEnd(len(e.lines)))
	}
	at, indent, end := root, 0, len(e.lines)
	for i, key := range path {
		place := findPlace(at, key)
		if place < 0 {
			return e.add(at, key, content(path[i+1:], value), end)
		}
		if at.Kind == yaml.MappingNode {
			indent = at.Content[0].Column - 1
		}
		if next := place + 1; next < len(at.Content) {
			end = at.Content[next].Line - 1
		}
		at = at.Content[place]
		if i == len(path)-1 || blank(at) {
			return e.replace(at, content(path[i+1:], value), indent)
		}
	}
	return nil
}

// content is value below the keys of path.
func content(path []string, value any) any {
	for _, key := range slices.Backward(path) {
		value = Map{{key, value}}
	}
	return value
}

// blank tells whether there is a null of which nothing is written.
func blank(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 }

// add puts a value behind all others in a mapping or list, which another follows on the line end.
func (e *editor) add(to *yaml.Node, key string, value any, end int) []byte {
	more := any([]any{value})
	if to.Kind == yaml.MappingNode {
		more = Map{{key, value}}
	}
	if to.Style == yaml.FlowStyle {
		return e.addInFlow(to, more)
	}
	if len(to.Content) == 0 || to.Style != 0 {
		return nil
	}
	indent := to.Content[0].Column - 1
	if to.Kind == yaml.SequenceNode {
		line, ok := e.dash(to.Content[0])
		if !ok {
			return nil
		}
		indent = len(line)
	}
	return e.insert(more, indent, e.contentEnd(end), end)
}

// insert puts lines that say value before one of those given: the first that fits.
func (e *editor) insert(value any, indent int, lines ...int) []byte {
	for _, line := range lines {
		block, ok := e.block(value, indent)
		if !ok {
			return nil
		}
		at := e.start(line)
		if at > 0 && e.text[at-1] != '\n' {
			block = e.eol() + block
		}
		if text := e.fits(e.put(at, at, block)); text != nil {
			return text
		}
	}
	return nil
}

// put returns the text with something else between two places.
func (e *editor) put(from, to int, with string) []byte {
	return slices.Concat(e.text[:from], []byte(with), e.text[to:])
}

// block returns lines that say value.
func (e *editor) block(value any, indent int) (string, bool) {
	node, err := newNode(value)
	if err != nil {
		return "", false
	}
	data, err := dump(node)
	if err != nil {
		return "", false
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			out.WriteString(strings.Repeat(" ", indent) + line)
		}
		out.WriteString(e.eol())
	}
	return out.String(), true
}

// inline returns value as it is written on one line: by itself, and among others between brackets.
func inline(value any) []string {
	var ways []string
	for _, within := range []bool{false, true} {
		node, err := newNode(value)
		if err != nil {
			return nil
		}
		if len(node.Content) > 0 {
			node.Style = yaml.FlowStyle
		}
		if within {
			node = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: []*yaml.Node{node}}
		}
		data, err := dumpWidth(node, -1)
		text := strings.TrimSuffix(string(data), "\n")
		if within && len(text) > 1 {
			text = text[1 : len(text)-1]
		}
		if err == nil && !strings.Contains(text, "\n") {
			ways = append(ways, text)
		}
	}
	return ways
}

// replace puts a value in another's place, whose key stands at indent.
func (e *editor) replace(old *yaml.Node, value any, indent int) []byte {
	from, ok := e.offset(old)
	if !ok {
		return nil
	}
	node, err := newNode(value)
	if err != nil {
		return nil
	}
	if old.Kind == yaml.SequenceNode && old.Style == 0 {
		return e.replaceItems(old, node)
	}
	to, _, ok := e.extent(old, from)
	if !ok {
		return nil
	}
	if len(node.Content) > 0 && len(old.Content) == 0 {
		return e.fill(from, to, value, indent)
	}
	for _, text := range inline(value) {
		if from == to {
			text = " " + text
		}
		if edited := e.fits(e.put(from, to, text)); edited != nil {
			return edited
		}
	}
	return nil
}

// fill puts a value that takes lines where nothing was, or [], {} or null.
func (e *editor) fill(from, to int, value any, indent int) []byte {
	for from > 0 && e.text[from-1] == ' ' {
		from--
	}
	if _, ok := value.(Map); ok {
		indent += 2
	}
	block, ok := e.block(value, indent)
	if !ok {
		return nil
	}
	rest := to + bytes.IndexByte(e.text[to:], '\n') + 1
	if rest == to { // there is no more line
		rest, block = len(e.text), e.eol()+block
	}
	return e.fits(slices.Concat(e.text[:from], e.text[to:rest], []byte(block), e.text[rest:]))
}

// addInFlow puts a value behind the others between brackets.
func (e *editor) addInFlow(to *yaml.Node, more any) []byte {
	from, ok := e.offset(to)
	if !ok {
		return nil
	}
	_, last, ok := e.extent(to, from)
	if !ok {
		return nil
	}
	for _, text := range inline(more) {
		text = text[1 : len(text)-1] // without brackets of its own
		if len(to.Content) > 0 {
			text = ", " + text
		}
		if edited := e.fits(e.put(last, last, text)); edited != nil {
			return edited
		}
	}
	return nil
}

// replaceItems makes the lines of a list those of another one. Lines of items that both have stay as they are, and so
// do comments.
func (e *editor) replaceItems(old, with *yaml.Node) []byte {
	if len(old.Content) == 0 || len(with.Content) == 0 {
		return nil
	}
	first, last := old.Content[0].Line-1, old.Content[len(old.Content)-1].Line-1
	lead, ok := e.dash(old.Content[0])
	if !ok {
		return nil
	}
	has, itemAt := map[string]string{}, map[int]*yaml.Node{}
	for _, item := range old.Content {
		if _, ok := e.dash(item); !ok || item.Kind != yaml.ScalarNode {
			return nil
		}
		has[item.Value] = e.whole(item.Line - 1)
		itemAt[item.Line-1] = item
	}
	var out strings.Builder
	kept := map[string]bool{}
	for _, item := range with.Content {
		line, there := has[item.Value]
		if ways := inline(item.Value); !there && len(ways) > 0 {
			line = lead + "- " + ways[0] + e.eol()
		}
		out.WriteString(line)
		kept[item.Value] = there
	}
	for n := first; n <= last; n++ {
		item := itemAt[n]
		if item == nil {
			out.WriteString(e.whole(n))
		} else if comment := e.comment(item); comment != "" && !kept[item.Value] {
			out.WriteString(lead + comment + e.eol())
		}
	}
	return e.fits(e.put(e.lines[first], e.start(last+1), out.String()))
}

// findPlace returns the place of a value: of a key's, or of the item of a list whose number from 0 key is; -1 for none.
func findPlace(in *yaml.Node, key string) int {
	if in.Kind != yaml.SequenceNode {
		return findKey(in, key)
	}
	if place, err := strconv.Atoi(key); err == nil && place >= 0 && place < len(in.Content) {
		return place
	}
	return -1
}
