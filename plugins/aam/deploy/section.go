package deploy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
)

// The prefixes of the markers before and after any section.
const (
	anyBegin = "<!-- BEGIN AAM:"
	anyEnd   = "<!-- END AAM:"
)

// marks holds the marker lines before and after the section of one artifact.
type marks struct{ begin, end string }

func marksOf(t manifest.Type, name string) marks {
	return marks{fmt.Sprintf("%s %s %s -->", anyBegin, name, t), fmt.Sprintf("%s %s %s -->", anyEnd, name, t)}
}

// HasMarks reports whether a later call would take a line of text for a marker. Such a text cannot be deployed as a
// section.
func HasMarks(text string) bool {
	return strings.Contains(text, anyBegin) || strings.Contains(text, anyEnd)
}

// WithoutSections returns text without the sections of all artifacts.
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

// sectionNames returns the names of the artifacts of type t that have sections in text, without duplicates.
func sectionNames(text string, t manifest.Type) []string {
	var names []string
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(strings.TrimSpace(line), anyBegin)
		name, its := strings.CutSuffix(rest, " "+string(t)+" -->")
		if name = strings.TrimSpace(name); !found || !its || slices.Contains(names, name) || pkgname.CheckArtifact(name) != nil {
			continue
		}
		if _, whole := marksOf(t, name).body(text); whole {
			names = append(names, name)
		}
	}
	return names
}

// InstructionText returns the content of an instruction that belongs to the package in dir.
func InstructionText(s files.System, dir string, a manifest.Artifact) (string, error) {
	return source{s, dir}.read(a.Path)
}

// find returns the offsets of the first begin marker and of the first end marker after it. If no end marker follows,
// find returns the first end marker of the text. It returns false unless the text has both markers.
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

// body returns the content between the markers; it returns false if text has no such section.
func (m marks) body(text string) (string, bool) {
	begin, end, ok := m.find(text)
	if begin += len(m.begin); !ok || end < begin {
		return "", false
	}
	return strings.TrimPrefix(text[begin:end], "\n"), true
}

// put returns text with the section replaced, or appended if text has no such section. The argument present says
// whether the file exists. In an existing, empty file two newlines precede the section; in a new file none do.
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

// cut returns text without the section. It returns "" if only white space remains, and the unchanged text unless both
// markers exist in order.
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
