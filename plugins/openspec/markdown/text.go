// Package markdown parses the Markdown that the format uses: lines, fences, and the tree of headers.
//
//	text := markdown.Parse(source)
//	purpose := markdown.Find(text.Sections(), "Purpose")
//
// It neither renders nor parses inline markup. Every line of a source is kept, so that unknown content survives.
package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Text is a Markdown text as lines, or a range of its lines. The zero value has no lines.
type Text struct {
	Lines []string // without line ends
	// First is the number of the first line in the original text, from 1.
	First int
	// Marked reports whether the source began with a byte-order mark. Lines does not contain the mark.
	Marked bool
	// Open reports whether a fence of the source is not closed. It is not set for a range of lines.
	Open   bool
	fenced []bool
}

// Parse splits a source. A leading byte-order mark is removed, and CRLF and lone CR count as LF.
func Parse(source string) *Text {
	lines := strings.Split(Normalize(source), "\n")
	fenced, open := mask(lines)
	return &Text{Lines: lines, First: 1, Marked: strings.HasPrefix(source, "\uFEFF"), Open: open, fenced: fenced}
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

// Fenced reports whether the line at index i is in a fence or delimits one. Such a line is never a header or list item.
func (t *Text) Fenced(i int) bool { return t.fenced[i] }

// Number returns the number of the line at index i in the original text, from 1.
func (t *Text) Number(i int) int { return t.First + i }

// Slice returns the lines with indices in [from, to). They share memory with t.
func (t *Text) Slice(from, to int) *Text {
	return &Text{Lines: t.Lines[from:to], First: t.First + from, fenced: t.fenced[from:to]}
}

// String returns the lines, joined by line feeds.
func (t *Text) String() string { return strings.Join(t.Lines, "\n") }

// Header returns the level and the trimmed title of the line at index i if it is a header: one to six #
// without indentation, white space, and a title. A line in a fence is not a header.
func (t *Text) Header(i int) (level int, title string, ok bool) {
	if t.fenced[i] {
		return 0, "", false
	}
	return Header(t.Lines[i])
}

// Header is Text.Header for a line outside of fences. A title of white space alone is returned as "". A line whose title
// contains U+2028 or U+2029 is not a header.
func Header(line string) (level int, title string, ok bool) {
	level = Level(line)
	if level == 0 {
		return 0, "", false
	}
	rest := line[level:]
	_, first := utf8.DecodeRuneInString(rest)
	if title = Trim(rest); title != "" {
		rest = TrimLeft(rest)
	} else if rest = rest[first:]; rest != "" {
		last, _ := utf8.DecodeLastRuneInString(rest)
		rest = string(last)
	}
	if rest == "" || strings.ContainsFunc(rest, IsSeparator) {
		return 0, "", false
	}
	return level, title, true
}

// Level returns the level of the line at index i if it begins like a header, with or without a title; 0 for other lines
// and in fences. A line with a level ends the section above it.
func (t *Text) Level(i int) int {
	if t.fenced[i] {
		return 0
	}
	return Level(t.Lines[i])
}

// Level is Text.Level for a line outside of fences.
func Level(line string) int {
	level := 0
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level == len(line) {
		return 0
	}
	if next, _ := utf8.DecodeRuneInString(line[level:]); !IsSpace(next) {
		return 0
	}
	return level
}

// Indented returns the level of a header by the rules of Markdown, and the text after the #. Up to three spaces may
// precede the #; a space, a tab or the end of the line must follow. The level of any other line is 0.
func Indented(line string) (level int, rest string) {
	header := strings.TrimLeft(line, " ")
	rest = strings.TrimLeft(header, "#")
	level = len(header) - len(rest)
	if len(line)-len(header) > 3 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	return level, rest
}

// NextHeader returns the index of the first line from index from on that begins like a header of a level up to deepest;
// len(t.Lines) if there is none.
func (t *Text) NextHeader(from, deepest int) int {
	for i := from; i < len(t.Lines); i++ {
		if level := t.Level(i); level > 0 && level <= deepest {
			return i
		}
	}
	return len(t.Lines)
}

// TrimStart returns the text without blank lines before its first line with content, and without the indentation of that
// line.
func (t *Text) TrimStart() *Text {
	for i, line := range t.Lines {
		trimmed := TrimLeft(line)
		if trimmed == "" {
			continue
		}
		rest := t.Slice(i, len(t.Lines))
		if trimmed != line {
			rest.Lines = slices.Clone(rest.Lines)
			rest.Lines[0] = trimmed
		}
		return rest
	}
	return t.Slice(len(t.Lines), len(t.Lines))
}

// TrimEnd returns the text without blank lines at its end, and without white space at the end of the line before them.
func (t *Text) TrimEnd() *Text {
	for i := len(t.Lines) - 1; i >= 0; i-- {
		trimmed := TrimRight(t.Lines[i])
		if trimmed == "" {
			continue
		}
		rest := t.Slice(0, i+1)
		if trimmed != t.Lines[i] {
			rest.Lines = slices.Clone(rest.Lines)
			rest.Lines[i] = trimmed
		}
		return rest
	}
	return t.Slice(0, 0)
}
