package yaml11

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// editor changes one value of a document. It computes candidate texts from the positions of the nodes. It accepts the first candidate that parses to the wanted value and keeps all comments.
type editor struct {
	text  []byte
	lines []int // the offset of the first byte of each line
	want  *frontmatter.Node
}

// edit returns the document with the value at path replaced by value. The result parses to want. If edit accepts no
// candidate, it returns nil.
func edit(text []byte, value any, path []string, want *frontmatter.Node) []byte {
	root, err := parseTree(&frontmatter.Parser{}, string(text), maxDepth)
	if err != nil {
		return nil
	}
	e := &editor{text: text, lines: []int{0}, want: want}
	for at, c := range text {
		if c == '\n' {
			e.lines = append(e.lines, at+1)
		}
	}
	return e.set(root, value, path)
}

// put returns the text with the bytes from the offset "from" up to the offset "to" replaced by "with". It returns nil if the
// result does not parse to the wanted value, or loses a comment.
func (e *editor) put(from, to int, with string) []byte {
	for _, comment := range comments(e.text[from:to]) {
		if !strings.Contains(with, comment) {
			return nil
		}
	}
	text := slices.Concat(e.text[:from], []byte(with), e.text[to:])
	got, err := Parse(text, len(text))
	if err != nil || !equal(got.root, e.want, map[[2]*frontmatter.Node]bool{}) {
		return nil
	}
	return text
}

// set follows path as far as the document contains the elements of path, and adds or replaces a value there.
func (e *editor) set(root *frontmatter.Node, value any, path []string) []byte {
	if root == nil || isBlank(root) {
		return e.insert(nested(path, value), 0, len(e.lines), e.contentEnd(len(e.lines)))
	}
	if isNull(root) {
		from, _ := e.offset(root)
		to, _, ok := e.extent(root, from, -1)
		block, fits := e.block(nested(path, value), 0)
		if !ok || !fits {
			return nil
		}
		return e.put(from, to, strings.TrimRight(block, "\r\n"))
	}
	at, indent, end := root, 0, len(e.lines)
	for i, key := range path {
		if isNull(at) {
			return e.replace(at, nested(path[i:], value), indent, end)
		}
		if at.Kind == frontmatter.Alias {
			return e.replace(at, e.wanted(path[:i]), indent, end)
		}
		place := placeOf(at, key)
		if place < 0 {
			more := nested(path[i+1:], value)
			if i+1 < len(path) && slices.ContainsFunc(at.Children, isMerge) {
				more = e.wanted(path[:i+1])
			}
			return e.add(at, key, more, end)
		}
		if at.Kind == frontmatter.Mapping {
			indent = e.keyIndent(at)
		}
		if next := place + 1; next < len(at.Children) {
			end = at.Children[next].Line - 1
		}
		at = at.Children[place]
	}
	return e.replace(at, value, indent, end)
}

// wanted returns the value that the edited document must have at path.
func (e *editor) wanted(path []string) *frontmatter.Node {
	at := Value{node: e.want}
	for _, key := range path {
		if n, err := strconv.Atoi(key); err == nil && at.Kind() == List {
			at = at.Items()[n]
		} else {
			at = at.Field(key)
		}
	}
	return at.node
}

// nested returns value inside mappings whose keys are the elements of path.
func nested(path []string, value any) any {
	for _, key := range slices.Backward(path) {
		value = Map{{key, value}}
	}
	return value
}

func isNull(n *frontmatter.Node) bool { return n.Kind == frontmatter.Scalar && kindOf(n) == Null }

// isBlank reports whether n is a null that is written as an empty value.
func isBlank(n *frontmatter.Node) bool {
	return n.Kind == frontmatter.Scalar && n.Text == "" && n.Style == frontmatter.Plain && !isTagged(n) && n.Anchor == ""
}

// add appends a value to a mapping or list that ends before the line with the number "end".
func (e *editor) add(to *frontmatter.Node, key string, value any, end int) []byte {
	more := any([]any{value})
	if to.Kind == frontmatter.Mapping {
		more = Map{{key, value}}
	}
	if to.Style == frontmatter.Flow && !isTagged(to) {
		return e.addInFlow(to, more)
	}
	if len(to.Children) == 0 || to.Style != frontmatter.Plain || isTagged(to) {
		return nil
	}
	indent := e.keyIndent(to)
	if to.Kind == frontmatter.Sequence {
		line, ok := e.dash(to.Children[0])
		if !ok {
			return nil
		}
		indent = len(line)
	}
	return e.insert(more, indent, e.contentEnd(end), end)
}

// insert inserts value as a block before one of the given lines. It uses the first line for which put accepts the
// result.
func (e *editor) insert(value any, indent int, lines ...int) []byte {
	block, ok := e.block(value, indent)
	if !ok {
		return nil
	}
	for _, line := range lines {
		at, text := e.start(line), block
		if at > 0 && e.text[at-1] != '\n' {
			text = e.eol() + block
		}
		if edited := e.put(at, at, text); edited != nil {
			return edited
		}
	}
	return nil
}

// block returns the lines of a mapping or list in block style, with the given indentation.
func (e *editor) block(value any, indent int) (string, bool) {
	var w writer
	if err := w.root(value); err != nil {
		return "", false
	}
	var out strings.Builder
	for line := range strings.Lines(string(w.out)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			out.WriteString(strings.Repeat(" ", indent) + line)
		}
		out.WriteString(e.eol())
	}
	return out.String(), true
}

// replace replaces the value old. The key of old has the given indentation, and old ends before the line with the
// number end.
func (e *editor) replace(old *frontmatter.Node, value any, indent, end int) []byte {
	from, ok := e.offset(old)
	if !ok {
		return nil
	}
	isBlock := (old.Kind == frontmatter.Sequence || old.Kind == frontmatter.Mapping) && old.Style != frontmatter.Flow
	if items, ok := value.([]string); ok && isBlock && len(items) > 0 {
		return e.replaceItems(old, items)
	}
	to := 0
	if isBlock {
		from, to, ok = e.blockExtent(from, end)
	} else {
		to, _, ok = e.extent(old, from, indent)
	}
	if !ok {
		return nil
	}
	if isNonEmpty(value) && len(old.Children) == 0 {
		if edited := e.fill(from, to, value, indent); edited != nil {
			return edited
		}
	}
	for _, text := range inline(value) {
		if from == to || isBlock {
			text = " " + text
		}
		if edited := e.put(from, to, text); edited != nil {
			return edited
		}
	}
	return nil
}

func isNonEmpty(value any) bool {
	switch value := value.(type) {
	case Map:
		return len(value) > 0
	case []any:
		return len(value) > 0
	case []string:
		return len(value) > 0
	}
	return false
}

// fill replaces an empty value by a block below the key of the value.
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
	if rest == to { // the last line of the document does not end with a newline
		rest, block = len(e.text), e.eol()+block
	}
	return e.put(from, rest, string(e.text[to:rest])+block)
}

// addInFlow appends a value to a collection that is written between brackets.
func (e *editor) addInFlow(to *frontmatter.Node, more any) []byte {
	from, ok := e.offset(to)
	if !ok {
		return nil
	}
	_, last, ok := e.brackets(from)
	if !ok {
		return nil
	}
	for _, text := range inline(more) {
		text = text[1 : len(text)-1] // remove the brackets around the new value
		if len(to.Children) > 0 {
			text = ", " + text
		}
		if edited := e.put(last, last, text); edited != nil {
			return edited
		}
	}
	return nil
}

// replaceItems replaces the items of a block list. It keeps all comments and the lines of unchanged items.
func (e *editor) replaceItems(old *frontmatter.Node, with []string) []byte {
	first, last := old.Children[0].Line-1, old.Children[len(old.Children)-1].Line-1
	lead, ok := e.dash(old.Children[0])
	if !ok {
		return nil
	}
	oldLine, itemAt := map[string]string{}, map[int]*frontmatter.Node{}
	for _, item := range old.Children {
		if _, ok := e.dash(item); !ok || item.Kind != frontmatter.Scalar {
			return nil
		}
		oldLine[item.Text] = strings.TrimRight(string(e.line(item.Line-1)), "\r\n") + e.eol()
		itemAt[item.Line-1] = item
	}
	var out strings.Builder
	kept := map[string]bool{}
	for _, item := range with {
		line, exists := oldLine[item]
		if !exists {
			line = lead + "- " + inline(item)[0] + e.eol()
		}
		out.WriteString(line)
		kept[item] = exists
	}
	for n := first; n <= last; n++ {
		item := itemAt[n]
		if item == nil {
			out.Write(e.line(n))
		} else if comment := e.comment(item); comment != "" && !kept[item.Text] {
			out.WriteString(lead + comment + e.eol())
		}
	}
	return e.put(e.lines[first], e.start(last+1), out.String())
}

// placeOf returns the index in Content at which the value of a key in a mapping is, or the item of a list whose number
// is key; -1 if there is no such value.
func placeOf(in *frontmatter.Node, key string) int {
	if in.Kind == frontmatter.Sequence {
		if n, err := strconv.Atoi(key); err == nil && n >= 0 && n < len(in.Children) {
			return n
		}
		return -1
	}
	for i := len(in.Children) - 2; i >= 0; i -= 2 {
		if name := in.Children[i].Resolve(); name.Text == key && !isMerge(name) {
			return i + 1
		}
	}
	return -1
}
