package yaml11

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// The functions in this file compute the offsets at which the nodes of a document begin and end.

// offset returns the offset at which a node begins, including the anchor and the tag of the node.
func (e *editor) offset(n *frontmatter.Node) (int, bool) {
	if n.Line < 1 || n.Line > len(e.lines) {
		return 0, false
	}
	at := e.lines[n.Line-1]
	for range n.Column - 1 { // node.Column counts code points, not bytes
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	return at, at <= len(e.text)
}

// extent returns the offset at which a node ends. The node begins at the offset from, its key has the indentation
// indent, and it must not be a block collection. For a collection between brackets, the result last is the offset at
// which the last value of the collection ends.
func (e *editor) extent(n *frontmatter.Node, from, indent int) (to, last int, ok bool) {
	from = e.skipProperties(from)
	rest := e.text[from:]
	switch n.Style {
	case frontmatter.Flow:
		return e.brackets(from)
	case frontmatter.SingleQuoted, frontmatter.DoubleQuoted:
		end := quoteLen(rest)
		return from + end, 0, end > 0
	case frontmatter.Literal, frontmatter.Folded:
		return e.blockScalarEnd(from, indent), 0, true
	}
	if n.Kind == frontmatter.Alias {
		return from + 1 + len(n.Text), 0, bytes.HasPrefix(rest, []byte("*"+n.Text))
	}
	to = from
	for i, word := range strings.Fields(n.Text) {
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

// blockScalarEnd returns the offset at which a literal or folded scalar ends. The scalar ends after the last line that
// is indented at least as deep as its first line.
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

// skipProperties returns the offset at which the value begins after the anchor and the tag at the offset "from".
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

// blockExtent returns the range of bytes that a one-line value replaces. The old value is a block collection that
// begins at the offset "from" and ends before the line with the number "end". The range starts after the colon of the key.
func (e *editor) blockExtent(from, end int) (int, int, bool) {
	from = len(bytes.TrimRight(e.text[:from], " \r\n"))
	last := e.contentEnd(end) - 1
	if from == 0 || e.text[from-1] != ':' || last < 0 {
		return 0, 0, false
	}
	return from, e.lines[last] + len(bytes.TrimRight(e.line(last), "\r\n")), true
}

// quoteLen returns the length of the quoted text at the start of rest; 0 if rest does not start with a quote.
func quoteLen[T string | []byte](rest T) int {
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

// brackets returns the offset at which a collection ends that begins with a bracket at the offset "from". The result last
// is the offset at which the last value of the collection ends.
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

// lineAt returns the number of the line that contains the offset "at".
func (e *editor) lineAt(at int) int {
	line, found := slices.BinarySearch(e.lines, at)
	if !found {
		line--
	}
	return line
}

// dash returns the text before the dash of a list item. It returns false if the item does not begin on the line of the
// dash.
func (e *editor) dash(item *frontmatter.Node) (string, bool) {
	start, ok := e.offset(item)
	if !ok {
		return "", false
	}
	before, ok := strings.CutSuffix(strings.TrimRight(string(e.text[e.lines[item.Line-1]:start]), " "), "-")
	return before, ok && strings.Trim(before, " ") == ""
}

// keyIndent returns the indentation of a block mapping. Its first key may follow "? ".
func (e *editor) keyIndent(mapping *frontmatter.Node) int {
	key := mapping.Children[0]
	if start, ok := e.offset(key); ok {
		before := strings.TrimRight(string(e.text[e.lines[key.Line-1]:start]), " ")
		if indent, ok := strings.CutSuffix(before, "?"); ok {
			return len(indent)
		}
	}
	return key.Column - 1
}

// contentEnd returns the number of the line after the last line before end that has content. Blank lines, comments and
// the end marker of a document are no content.
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

// start returns the offset at which a line begins. For a line after the last line, it returns the end of the text.
func (e *editor) start(line int) int {
	if line < len(e.lines) {
		return e.lines[line]
	}
	return len(e.text)
}

// comment returns the comment that follows a scalar on the same line; "" if there is no such comment.
func (e *editor) comment(item *frontmatter.Node) string {
	from, ok := e.offset(item)
	to, _, ok2 := e.extent(item, from, 0)
	if !ok || !ok2 || to > e.start(item.Line) { // the scalar may end on a later line
		return ""
	}
	rest := strings.TrimSpace(string(e.text[to:e.start(item.Line)]))
	if !strings.HasPrefix(rest, "#") {
		return ""
	}
	return rest
}

func (e *editor) eol() string { return lineEnd(e.text) }

// lineEnd returns the line end that text uses: CRLF or LF.
func lineEnd(text []byte) string {
	if at := bytes.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// comments returns those comments in text that can be distinguished from values without parsing. It omits a comment
// after a quote on the same line, because the # may be part of a quoted scalar.
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
