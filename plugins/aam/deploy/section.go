package deploy

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// What all marks of sections begin with.
const (
	anyBegin = "<!-- BEGIN AAM:"
	anyEnd   = "<!-- END AAM:"
)

// marks are the lines around the section of one artifact.
type marks struct{ begin, end string }

func marksOf(t manifest.Type, name string) marks {
	return marks{fmt.Sprintf("%s %s %s -->", anyBegin, name, t), fmt.Sprintf("%s %s %s -->", anyEnd, name, t)}
}

// HasMarks tells whether a text has a line in it that would be taken for one around a section. It cannot become a
// section itself.
func HasMarks(text string) bool {
	return strings.Contains(text, anyBegin) || strings.Contains(text, anyEnd)
}

// WithoutSections returns a text without all sections in it, whosever they are.
func WithoutSections(text string) string {
	var left strings.Builder
	for {
		before, rest, found := strings.Cut(text, anyBegin)
		of, _, _ := strings.Cut(rest, "-->")
		_, behind, closed := strings.Cut(rest, anyEnd+of+"-->")
		if !found || !closed {
			left.WriteString(text)
			return left.String()
		}
		left.WriteString(before)
		text = behind
	}
}

// InstructionText returns the text of an instruction in the package in dir.
func InstructionText(s files.System, dir string, a manifest.Artifact) (string, error) {
	return source{s, dir}.read(a.Path)
}

// find returns where the section's marks are: the first, and the first that ends it, wherever that is if it is not behind;
// false unless both are there.
func (m marks) find(text string) (begin, end int, ok bool) {
	begin = strings.Index(text, m.begin)
	if begin < 0 {
		return 0, 0, false
	}
	if end = strings.Index(text[begin:], m.end); end >= 0 {
		return begin, begin + end, true
	}
	end = strings.Index(text, m.end)
	return begin, end, end >= 0
}

// put returns text with the section holding body, in its place or at the end. Present says whether there is a file:
// an empty one gains two line breaks, an absent one does not.
func (m marks) put(text string, present bool, body string) string {
	whole := m.begin + "\n" + strings.TrimRightFunc(body, unicode.IsSpace) + "\n" + m.end + "\n"
	if !present {
		return whole
	}
	begin, end, ok := m.find(text)
	if !ok {
		return strings.TrimRight(text, "\n") + "\n\n" + whole
	}
	rest := text[end+len(m.end):]
	if strings.TrimSpace(rest) == "" {
		rest = ""
	} else {
		rest = "\n" + strings.TrimLeft(rest, "\n")
	}
	return strings.TrimRight(text[:begin], "\n") + "\n\n" + whole + rest
}

// cut returns text without the section; "" if nothing is left. Without both marks, in their order, it is as it was.
func (m marks) cut(text string) string {
	begin, end, ok := m.find(text)
	if !ok || end < begin {
		return text
	}
	left := strings.TrimRight(text[:begin], "\n") + "\n" + strings.TrimLeft(text[end+len(m.end):], "\n")
	if left = strings.TrimSpace(left); left == "" {
		return ""
	}
	return left + "\n"
}
