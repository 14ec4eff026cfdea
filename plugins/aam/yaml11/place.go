package yaml11

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Where the nodes of a document begin and end.

// offset returns where a node begins, including its anchor and tag.
func (e *editor) offset(n *yaml.Node) (int, bool) {
	if n.Line < 1 || n.Line > len(e.lines) {
		return 0, false
	}
	at := e.lines[n.Line-1]
	for range n.Column - 1 { // in code points
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	return at, at <= len(e.text)
}

// extent returns where a node ends that begins at from and is not a block collection, and for one between brackets where
// its last value ends. The key of the node is at indent.
func (e *editor) extent(n *yaml.Node, from, indent int) (to, last int, ok bool) {
	from = e.skipProperties(from)
	rest := e.text[from:]
	switch n.Style &^ yaml.TaggedStyle {
	case yaml.FlowStyle:
		return e.brackets(from)
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		end := quoteLen(rest)
		return from + end, 0, end > 0
	case yaml.LiteralStyle, yaml.FoldedStyle:
		return e.blockScalarEnd(from, indent), 0, true
	}
	if n.Kind == yaml.AliasNode {
		return from + 1 + len(n.Value), 0, bytes.HasPrefix(rest, []byte("*"+n.Value))
	}
	to = from
	for i, word := range strings.Fields(n.Value) {
		if i > 0 {
			to += len(e.text[to:]) - len(bytes.TrimLeft(e.text[to:], " \t\r\n"))
		}
		if !bytes.HasPrefix(e.text[to:], []byte(word)) {
			return 0, 0, false
		}
		to += len(word)
	}
	return to, 0, true
}

// blockScalarEnd returns where a literal or folded scalar ends: behind the last line that is indented like its first.
func (e *editor) blockScalarEnd(from, indent int) int {
	end, own := e.lineAt(from), 0
	for n := end + 1; n < len(e.lines); n++ {
		line := e.line(n)
		content := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		margin := len(line) - len(content)
		if own == 0 {
			own = margin
		}
		if margin <= indent || margin < own {
			break
		}
		end = n
	}
	return e.lines[end] + len(bytes.TrimRight(e.line(end), "\r\n"))
}

// skipProperties returns where the value begins behind the anchor and the tag at from.
func (e *editor) skipProperties(from int) int {
	for from < len(e.text) && (e.text[from] == '&' || e.text[from] == '!') {
		end := bytes.IndexAny(e.text[from:], " \r\n")
		if end < 0 {
			return len(e.text)
		}
		from += end
		for from < len(e.text) && e.text[from] == ' ' {
			from++
		}
	}
	return from
}

// blockExtent returns what a one-line value has to replace instead of a block collection that begins at from and ends
// before the line end: everything behind the colon of its key.
func (e *editor) blockExtent(from, end int) (int, int, bool) {
	from = len(bytes.TrimRight(e.text[:from], " \r\n"))
	last := e.contentEnd(end) - 1
	if from == 0 || e.text[from-1] != ':' || last < 0 {
		return 0, 0, false
	}
	return from, e.lines[last] + len(bytes.TrimRight(e.line(last), "\r\n")), true
}

// quoteLen returns the length of the text in quotes that rest begins with; 0 for none.
func quoteLen(rest []byte) int {
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return 0
	}
	for at := 1; at < len(rest); at++ {
		switch {
		case rest[at] == '\\' && rest[0] == '"':
			at++
		case rest[at] == rest[0] && rest[0] == '\'' && at+1 < len(rest) && rest[at+1] == '\'':
			at++
		case rest[at] == rest[0]:
			return at + 1
		}
	}
	return 0
}

// brackets returns where what begins at from with a bracket ends, and the last value in it.
func (e *editor) brackets(from int) (to, last int, ok bool) {
	depth, before := 0, byte(' ')
	for at := from; at < len(e.text); at++ {
		switch c := e.text[at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			continue
		case c == '#' && at > from && strings.IndexByte(" \t\n", e.text[at-1]) >= 0:
			at = e.start(e.lineAt(at)+1) - 1
			continue
		case (c == '"' || c == '\'') && strings.IndexByte("[{,:", before) >= 0:
			at += max(quoteLen(e.text[at:])-1, 0)
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return at + 1, last, true
			}
		}
		before, last = e.text[at], at+1
	}
	return 0, 0, false
}

// lineAt returns the line of a place.
func (e *editor) lineAt(at int) int {
	line, found := slices.BinarySearch(e.lines, at)
	if !found {
		line--
	}
	return line
}

// dash returns what stands before the dash of an item that begins on the dash's line.
func (e *editor) dash(item *yaml.Node) (string, bool) {
	start, ok := e.offset(item)
	if !ok {
		return "", false
	}
	before, ok := strings.CutSuffix(strings.TrimRight(string(e.text[e.lines[item.Line-1]:start]), " "), "-")
	return before, ok && strings.Trim(before, " ") == ""
}

// keyIndent returns the indentation of a block mapping, whose first key may follow "? ".
func (e *editor) keyIndent(mapping *yaml.Node) int {
	key := mapping.Content[0]
	if start, ok := e.offset(key); ok {
		before := strings.TrimRight(string(e.text[e.lines[key.Line-1]:start]), " ")
		if indent, ok := strings.CutSuffix(before, "?"); ok {
			return len(indent)
		}
	}
	return key.Column - 1
}

// contentEnd returns the line behind the last before end that is neither blank nor a comment nor an end of a document.
func (e *editor) contentEnd(end int) int {
	for ; end > 0; end-- {
		line := strings.TrimSpace(string(e.line(end - 1)))
		if line != "" && line[0] != '#' && line != "..." {
			break
		}
	}
	return end
}

func (e *editor) line(n int) []byte { return e.text[e.lines[n]:e.start(n+1)] }

// start returns where a line begins; of one behind the last, the end of the text.
func (e *editor) start(line int) int {
	if line < len(e.lines) {
		return e.lines[line]
	}
	return len(e.text)
}

// comment returns what stands behind a scalar on its line, "" if that is no comment.
func (e *editor) comment(item *yaml.Node) string {
	from, ok := e.offset(item)
	to, _, ok2 := e.extent(item, from, 0)
	if !ok || !ok2 {
		return ""
	}
	rest := strings.TrimSpace(string(e.text[to:e.start(item.Line)]))
	if !strings.HasPrefix(rest, "#") {
		return ""
	}
	return rest
}

func (e *editor) eol() string { return lineEnd(e.text) }

// lineEnd returns how the lines of a text end.
func lineEnd(text []byte) string {
	if at := bytes.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// comments returns the comments of a text, as far as they can be told from values line by line: of what has quotes
// before it, it cannot be.
func comments(text []byte) []string {
	var found []string
	for line := range strings.Lines(string(text)) {
		for at := range line {
			if line[at] == '#' && (at == 0 || line[at-1] == ' ' || line[at-1] == '\t') && !strings.ContainsAny(line[:at], `'"`) {
				found = append(found, strings.TrimSpace(line[at:]))
				break
			}
		}
	}
	return found
}
