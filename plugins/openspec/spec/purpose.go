package spec

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// PurposeBody returns the body of the first Purpose section of level 2, without surrounding white space. It returns ""
// if that body has no content outside of fences and comments. Headers in comments do not count.
func PurposeBody(text *markdown.Text) string {
	visible := markdown.Parse(withoutComments(text.String()))
	start := -1
	for i, line := range visible.Lines {
		hidden := i == 0 && text.Marked // a line after the byte-order mark is not a header
		if !hidden && visible.Level(i) == 2 && isTitled(line, PurposeTitle) {
			start = i + 1
			break
		}
	}
	if start < 0 {
		return ""
	}
	end := start
	for end < len(visible.Lines) && visible.Level(end) != 2 {
		end++
	}
	if markdown.Trim(strings.Join(unfenced(visible.Slice(start, end)), "\n")) == "" {
		return ""
	}
	return markdown.Trim(text.Slice(start, end).String())
}

// withoutComments replaces HTML comments by spaces and keeps the line feeds in them. An unclosed comment extends to the
// end of the text.
func withoutComments(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<!--")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := commentEnd(rest)
		for _, r := range "<!--" + rest[:end] {
			if r != '\n' {
				r = ' '
			}
			out.WriteRune(r)
		}
		text = rest[end:]
	}
}

// commentEnd returns the index after the end of a comment. The argument text begins after the "<!--" of that comment.
func commentEnd(text string) int {
	for at := 0; ; at++ {
		next := strings.Index(text[at:], "--")
		if next < 0 {
			return len(text)
		}
		at += next
		for _, mark := range []string{"-->", "--!>"} {
			if strings.HasPrefix(text[at:], mark) {
				return at + len(mark)
			}
		}
	}
}
