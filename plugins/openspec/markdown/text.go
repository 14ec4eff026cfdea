// Package markdown parses those parts of Markdown that the format uses: lines, fences, and the tree of headers.
//
//	text := markdown.Parse(source)
//	purpose := markdown.Find(text.Sections(), "Purpose")
//
// The package neither renders nor parses inline markup. A Text keeps every line of its source, so that unknown content
// is preserved.
package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Text holds the lines of a Markdown text, or a range of these lines. The zero value has no lines.
type Text struct {
	Lines []string // each line without its line end
	// First is the number that the first line has in the original text, from 1.
	First int
	// Marked reports whether the source began with a byte-order mark. Lines does not contain the byte-order mark.
	Marked bool
	// Open reports whether a fence in the source is not closed. It is never set for a range of lines.
	Open   bool
	fenced []bool
}

// ParseAny parses source as Parse does, with U+FFFD in place of invalid UTF-8.
func ParseAny(source string) *Text { return Parse(strings.ToValidUTF8(source, "\uFFFD")) }

// Parse splits source into lines. It removes a byte-order mark at the beginning, and treats CRLF and a lone CR as LF.
func Parse(source string) *Text {
	lines := strings.Split(Normalize(source), "\n")
	fenced, open := mask(lines)
	return &Text{Lines: lines, First: 1, Marked: strings.HasPrefix(source, "\uFEFF"), Open: open, fenced: fenced}
}

// Normalize returns source without a byte-order mark at the beginning, and with LF in place of CRLF and of a lone CR.
func Normalize(source string) string {
	source = strings.TrimPrefix(source, "\uFEFF")
	if !strings.Contains(source, "\r") {
		return source
	}
	source = strings.ReplaceAll(source, "\r\n", "\n")
	return strings.ReplaceAll(source, "\r", "\n")
}

// Fenced reports whether the line at index i is in a fence or delimits a fence. Such a line is never a header or list
// item.
func (t *Text) Fenced(i int) bool { return t.fenced[i] }

// Number returns the number that the line at index i has in the original text, from 1.
func (t *Text) Number(i int) int { return t.First + i }

// Slice returns the lines with the indexes in [from, to) as a Text that shares memory with t.
func (t *Text) Slice(from, to int) *Text {
	return &Text{Lines: t.Lines[from:to], First: t.First + from, fenced: t.fenced[from:to]}
}

// String returns the lines, joined by line feeds.
func (t *Text) String() string { return strings.Join(t.Lines, "\n") }

// Header returns the level and the trimmed title of the line at index i if that line is a header. A header consists of
// one to six # characters without indentation, white space, and a title. A line in a fence is not a header. If the title
// consists only of white space, Header returns "" as the title. A line whose title contains U+2028 or U+2029 is not a
// header.
func (t *Text) Header(i int) (level int, title string, ok bool) {
	level = t.Level(i)
	if level == 0 {
		return 0, "", false
	}
	rest := t.Lines[i][level:]
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

// Level returns the level of the line at index i if the line begins like a header, with or without a title. It returns
// 0 for any other line and for a line in a fence. A line with a level ends the section above it.
func (t *Text) Level(i int) int {
	line, level := t.Lines[i], 0
	for level < len(line) && line[level] == '#' {
		level++
	}
	if t.fenced[i] || level == 0 || level > 6 || level == len(line) {
		return 0
	}
	if next, _ := utf8.DecodeRuneInString(line[level:]); !IsSpace(next) {
		return 0
	}
	return level
}

// Indented returns the level of a header by the rules of Markdown, and the text after the # characters. Up to three
// spaces may precede these characters, and a space, a tab or the end of the line must follow them. For any other line,
// Indented returns 0.
func Indented(line string) (level int, rest string) {
	header := strings.TrimLeft(line, " ")
	rest = strings.TrimLeft(header, "#")
	level = len(header) - len(rest)
	if len(line)-len(header) > 3 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	return level, rest
}

// NextHeader returns the index of the next line that begins like a header of a level up to deepest. The search starts
// at the index "from". If there is no such line, NextHeader returns len(t.Lines).
func (t *Text) NextHeader(from, deepest int) int {
	for i := from; i < len(t.Lines); i++ {
		if level := t.Level(i); level > 0 && level <= deepest {
			return i
		}
	}
	return len(t.Lines)
}

// TrimStart returns the text without the blank lines before the first line with content, and without the indentation of
// that line.
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

// TrimEnd returns the text without the blank lines at its end, and without white space at the end of the last remaining
// line.
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
