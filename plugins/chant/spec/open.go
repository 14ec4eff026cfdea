package spec

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Document is a spec with the complete content of its file. Callers may change the fields Type, Status, CompletedAt,
// Model and Body. Encode writes all other keys unchanged.
type Document struct {
	Spec
	front front
}

// Open parses the content of a spec file. Errors are *LoadError, with an empty Path.
func Open(content string) (*Document, error) {
	if len(content) > MaxSize {
		return nil, &LoadError{Limit: true, Reason: fmt.Sprintf("larger than %d MiB", MaxSize>>20)}
	}
	if !utf8.ValidString(content) {
		return nil, &LoadError{Line: invalidLine(content), Reason: "not valid UTF-8"}
	}
	head, body, line := split(content)
	front, err := parseFront(head, line)
	if err != nil {
		return nil, err
	}
	document := &Document{front: front}
	document.Body = body
	front.fill(&document.Spec)
	return document, nil
}

// invalidLine returns the number of the first line that is not valid UTF-8.
func invalidLine(content string) int {
	for at, r := range content {
		if _, size := utf8.DecodeRuneInString(content[at:]); r == utf8.RuneError && size == 1 {
			return 1 + strings.Count(content[:at], "\n")
		}
	}
	return 0
}

// split separates the YAML (head) of a file from its Markdown (body). The result line is the number of the first line
// of YAML. If the text does not have two lines of dashes, the whole text is Markdown. As in the chant CLI, and unlike
// in frontmatter.Cut, white space may precede the first line of dashes, and text may follow the dashes in the same
// line.
func split(text string) (head, body string, line int) {
	trimmed := strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(trimmed, "---")
	if !ok {
		return "", trimmed, 0
	}
	end := strings.Index(rest, "\n---")
	if end < 0 {
		end = len(rest)
	}
	if cr := strings.Index(rest[:end], "\r---"); cr >= 0 { // a carriage return alone ends a line in YAML
		end = cr
	}
	if end == len(rest) {
		return "", trimmed, 0
	}
	line = 1 + strings.Count(text[:strings.Index(text, "---")], "\n")
	return rest[:end] + "\n", strings.TrimSpace(rest[end+len("\n---"):]), line
}
