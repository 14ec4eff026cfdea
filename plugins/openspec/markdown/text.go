// Package markdown reads Markdown as far as the format needs it: lines, fences, and the tree of headers.
//
//	text := markdown.Parse(source)
//	purpose := markdown.Find(text.Sections(), "Purpose")
//
// It does not render and knows no inline markup. Every line of a source is kept, so that what is not
// understood survives.
package markdown

import "strings"

// Text is a Markdown text taken apart into lines, or a run of lines of one. The zero value has no lines.
type Text struct {
	Lines []string // without line ends
	// First is the number of the first line in the text that this one was cut from, counted from 1.
	First  int
	fenced []bool
}

// Parse takes a source apart. A leading byte-order mark is dropped, and CRLF and lone CR count as LF.
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

// Fenced tells whether the line at index i is in a fence or is one of its two ends. Such a line is never
// structure.
func (t *Text) Fenced(i int) bool { return t.fenced[i] }

// Number returns the number, counted from 1, that the line at index i has in the whole text.
func (t *Text) Number(i int) int { return t.First + i }

// Slice returns the lines from index from to before index to, which share their memory with t.
func (t *Text) Slice(from, to int) *Text {
	return &Text{Lines: t.Lines[from:to], First: t.First + from, fenced: t.fenced[from:to]}
}

// String returns the lines, joined by line feeds.
func (t *Text) String() string { return strings.Join(t.Lines, "\n") }

// Header returns the level and the trimmed title of the line at index i, if it is a header: one to six #
// at the very beginning, white space, and more. A line in a fence is none.
func (t *Text) Header(i int) (level int, title string, ok bool) {
	if t.fenced[i] {
		return 0, "", false
	}
	return Header(t.Lines[i])
}

// Header is Text.Header for a line of which it is known that it is in no fence.
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

// NextHeader returns the index of the first header at from or behind it whose level is at most deepest;
// len(t.Lines) if there is none.
func (t *Text) NextHeader(from, deepest int) int {
	for i := from; i < len(t.Lines); i++ {
		if level, _, ok := t.Header(i); ok && level <= deepest {
			return i
		}
	}
	return len(t.Lines)
}
