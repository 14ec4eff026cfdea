package spec

import (
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Parts holds the parts into which Divide splits a main spec for a merge.
type Parts struct {
	Before   *markdown.Text // the lines before the Requirements header; all lines if the spec has no such header
	Header   string         // the Requirements header as the file has it, or a new one
	Found    bool           // the spec has a Requirements header
	Preamble *markdown.Text // the lines between the Requirements header and the first requirement
	Blocks   []requirement.Block
	After    *markdown.Text // the lines from the next header of level 2 on
}

// Divide splits a main spec at its first Requirements header, and at the next header of level 2.
func Divide(text *markdown.Text) Parts {
	start, end := section(text)
	if start < 0 {
		none := text.Slice(len(text.Lines), len(text.Lines))
		return Parts{Before: text, Header: "## " + RequirementsTitle, Preamble: none, After: none}
	}
	preamble, blocks := requirement.Blocks(text.Slice(start+1, end))
	return Parts{
		Before:   text.Slice(0, start),
		Header:   text.Lines[start],
		Found:    true,
		Preamble: preamble,
		Blocks:   blocks,
		After:    text.Slice(end, len(text.Lines)),
	}
}

// section returns the index of the Requirements header, and the index at which its section ends. The result start is -1
// if the spec has no Requirements header.
func section(text *markdown.Text) (start, end int) {
	start = -1
	for i, line := range text.Lines {
		switch {
		case text.Level(i) != 2:
		case start >= 0:
			return start, i
		case isTitled(line, RequirementsTitle):
			start = i
		}
	}
	return start, len(text.Lines)
}

// isTitled reports whether line, which begins like a header of level 2, has the given title. It ignores the case of the
// title.
func isTitled(line, title string) bool { return markdown.EqualFold(markdown.Trim(line[2:]), title) }

// Compose returns a text that consists of the parts and the new blocks. One empty line separates parts and blocks.
// Compose replaces each run of empty lines outside of fences by one empty line, and ends the text with one line feed.
func (p Parts) Compose(blocks []string) string {
	body := append([]string{markdown.TrimRight(p.Preamble.String())}, blocks...)
	parts := []string{
		markdown.TrimRight(p.Before.String()),
		p.Header,
		markdown.TrimRight(joinParts(body)),
		markdown.Trim(p.After.String()),
	}
	return squeeze(joinParts(parts)) + "\n"
}

// joinParts joins those parts that are not empty, separated by one empty line.
func joinParts(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n")
}

// squeeze replaces each run of empty lines outside of fences by one empty line, and removes the empty lines at the end.
func squeeze(source string) string {
	text := markdown.Parse(source)
	kept := make([]string, 0, len(text.Lines))
	for i, line := range text.Lines {
		again := i > 0 && text.Lines[i-1] == "" && !text.Fenced(i-1)
		if line == "" && !text.Fenced(i) && again {
			continue
		}
		kept = append(kept, line)
	}
	return markdown.TrimRight(strings.Join(kept, "\n"))
}
