// Package markdown parses the Markdown that the format uses: lines, fences, and the tree of headers.
//
//	text := markdown.Parse(source)
//	purpose := markdown.Find(text.Sections(), "Purpose")
//
// It neither renders nor parses inline markup. Every line of a source is kept, so that unknown content survives.
package markdown

import "strings"

// Text is a Markdown text as lines, or a range of its lines. The zero value has no lines.
type Text struct {
	Lines []string // without line ends
	// First is the number of the first line in the original text, from 1.
	First  int
	fenced []bool
}

// Parse splits a source. A leading byte-order mark is removed, and CRLF and lone CR count as LF.
func Parse(source string) *Text {
	lines := strings.Split(Normalize(source), "\n")
	return &Text{Lines: lines, First: 1, fenced: mask(lines)}
}

// Normalize returns a source without a leading byte-order mark, with LF for CRLF and lone CR.
func Normalize(source string) string {
	source = strings.TrimPrefix(source, "\uFEFF")
	if !strings.Contains(source, "\r") {
		return source
	}
	source = strings.ReplaceAll(source, "\r\n", "\n")
	return strings.ReplaceAll(source, "\r", "\n")
}

// Fenced reports whether the line at index i is in a fence or is one of its delimiters. Such a line is never a header or
// list item.
func (t *Text) Fenced(i int) bool { return t.fenced[i] }

// Number returns the number of the line at index i in the original text, from 1.
func (t *Text) Number(i int) int { return t.First + i }

// Slice returns the lines from index from to before index to, which share their memory with t.
func (t *Text) Slice(from, to int) *Text {
	return &Text{Lines: t.Lines[from:to], First: t.First + from, fenced: t.fenced[from:to]}
}

// String returns the lines, joined by line feeds.
func (t *Text) String() string { return strings.Join(t.Lines, "\n") }

// Header returns the level and the trimmed title of the line at index i, if it is a header: one to six #
// without indentation, white space, and more. A line in a fence is none.
func (t *Text) Header(i int) (level int, title string, ok bool) {
	if t.fenced[i] {
		return 0, "", false
	}
	return Header(t.Lines[i])
}

// Header is Text.Header for a line outside of fences.
func Header(line string) (level int, title string, ok bool) {
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level == 0 || level > 6 {
		return 0, "", false
	}
	for at, r := range line[level:] {
		if at == 0 {
			if !IsSpace(r) {
				return 0, "", false
			}
			continue
		}
		return level, Trim(line[level:]), true
	}
	return 0, "", false
}

// NextHeader returns the index of the first header at from or after it whose level is at most deepest;
// len(t.Lines) if there is none.
func (t *Text) NextHeader(from, deepest int) int {
	for i := from; i < len(t.Lines); i++ {
		if level, _, ok := t.Header(i); ok && level <= deepest {
			return i
		}
	}
	return len(t.Lines)
}
