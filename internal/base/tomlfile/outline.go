package tomlfile

import (
	"bytes"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// hiddenValue replaces a value that Outline hides.
const hiddenValue = "…"

// Outline returns the lines of data, valid TOML, without comments, and without the values of keys for whose path hide returns true. The value
// of a key that contains such a key is hidden as a whole. A line has the same index as in data, and may be empty. An item of an array of
// tables has the path of the array.
func Outline(data []byte, hide func(path []string) bool) ([]string, error) {
	if doc, ps := Parse("the file", data); doc == nil {
		return nil, ps.Err()
	}
	shown := make([]byte, 0, len(data))
	copied := 0 // bytes of data of which shown has what is shown
	// skip replaces what precedes an offset by its line breaks: comments, and spaces between expressions.
	skip := func(to int) {
		shown = append(shown, bytes.Repeat([]byte("\n"), bytes.Count(data[copied:to], []byte("\n")))...)
		copied = to
	}
	show := func(to int) {
		text := data[copied:to]
		for line := range bytes.Lines(text) {
			// A comment in an array. A string with this character is cut, too.
			if before, after, found := bytes.Cut(line, []byte("#")); found && bytes.ContainsRune(text, '\n') {
				shown = append(append(shown, before...), hiddenValue...)
				line = after[len(bytes.TrimSuffix(after, []byte("\n"))):]
			}
			shown = append(shown, line...)
		}
		copied = to
	}
	var p unstable.Parser
	p.Reset(data)
	here := []string{}
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue {
			path, end := keyPath(e.Key(), nil)
			here = path
			start := bytes.LastIndexByte(data[:end], '\n') + 1
			skip(start)
			show(end + bytes.IndexByte(append(data[end:len(data):len(data)], '\n'), '\n'))
			shown = cutComment(shown)
			continue
		}
		path, keyEnd := keyPath(e.Key(), here)
		start, end := int(e.Raw.Offset), int(e.Raw.Offset+e.Raw.Length)
		skip(start)
		if hides(path, e.Value(), hide) {
			show(keyEnd)
			shown = append(shown, " = "+hiddenValue...)
			skip(end)
			continue
		}
		show(end)
	}
	skip(len(data))
	return strings.Split(strings.TrimSuffix(string(shown), "\n"), "\n"), nil
}

// LastLine returns the last line of the key and value that begin at a line of data, valid TOML; the line itself if none do.
func LastLine(data []byte, line int) int {
	var p unstable.Parser
	p.Reset(data)
	for at, counted := 1, 0; p.NextExpression(); {
		e := p.Expression()
		if e.Kind != unstable.KeyValue {
			continue
		}
		start, end := int(e.Raw.Offset), int(e.Raw.Offset+e.Raw.Length)
		at += bytes.Count(data[counted:start], []byte("\n"))
		if counted = start; at >= line {
			if at == line {
				return line + bytes.Count(data[start:end], []byte("\n"))
			}
			break
		}
	}
	return line
}

// cutComment removes what follows the last ] of the last line, a heading.
func cutComment(text []byte) []byte {
	line := bytes.LastIndexByte(text, '\n') + 1
	heading, _, _ := bytes.Cut(text[line:], []byte("#"))
	return append(text[:line], bytes.TrimRight(heading, " \t\r")...)
}

// hides reports whether the value at path, or one in it, is to be hidden.
func hides(path []string, value *unstable.Node, hide func(path []string) bool) bool {
	if hide(path) {
		return true
	}
	if value.Kind != unstable.Array && value.Kind != unstable.InlineTable {
		return false
	}
	for it := value.Children(); it.Next(); {
		child, inner := it.Node(), path
		if child.Kind == unstable.KeyValue {
			inner, _ = keyPath(child.Key(), path)
			child = child.Value()
		}
		if hides(inner, child, hide) {
			return true
		}
	}
	return false
}
