package spec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// The placeholder of a Purpose that has not been written.
const (
	placeholderStart = "created by archiving change "
	placeholderEnd   = ". Update Purpose after archive"
)

// PlaceholderPurpose returns the placeholder for a capability that a change creates.
func PlaceholderPurpose(change string) string {
	return fmt.Sprintf("TBD - %s%s%s.", placeholderStart, change, placeholderEnd)
}

// Placeholder reports whether the Purpose is a placeholder, and its line, from 1.
func Placeholder(text *markdown.Text) (line int, found bool) {
	purpose := markdown.Find(text.Sections(), PurposeTitle)
	if purpose == nil {
		return 0, false
	}
	first := true
	for i, content := range purpose.Body.Lines {
		if purpose.Body.Fenced(i) || markdown.Trim(content) == "" {
			continue
		}
		if first && isMarker(markdown.Trim(content)) || isPlaceholder(content) {
			return purpose.Body.Number(i), true
		}
		first = false
	}
	return 0, false
}

func isPlaceholder(line string) bool {
	_, rest, ok := strings.Cut(line, placeholderStart)
	return ok && strings.Contains(rest, placeholderEnd)
}

// isMarker reports whether a line begins with TBD or TODO. If not in capitals, such a word is prose in some
// languages, unless punctuation or the end of the line follows.
func isMarker(line string) bool {
	for _, word := range []string{"TBD", "TODO"} {
		if len(line) < len(word) || !strings.EqualFold(line[:len(word)], word) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(line[len(word):])
		switch {
		case len(line) == len(word):
			return true
		case line[:len(word)] == word:
			return !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_'
		default:
			return unicode.IsPunct(next) && next != '_'
		}
	}
	return false
}
