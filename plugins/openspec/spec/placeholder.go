package spec

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// The placeholder of a Purpose that has not been written.
const (
	placeholderStart = "TBD - created by archiving change "
	placeholderEnd   = ". Update Purpose after archive."
)

// PlaceholderPurpose returns the placeholder for a capability that a change creates.
func PlaceholderPurpose(change string) string { return placeholderStart + change + placeholderEnd }

// Placeholder reports whether a Purpose, the overview of a spec, is a placeholder, and its line, from 1. The line is 0 if
// it cannot be told: the Purpose of readers may be a header of any level, that of the text is one of level 2.
func Placeholder(overview string, text *markdown.Text) (line int, found bool) {
	prose := markdown.Trim(strings.Join(unfenced(markdown.Parse(overview)), "\n"))
	marked := isMarker(prose)
	if !marked && placeholderIndex(prose) < 0 {
		return 0, false
	}
	return placeholderLine(text, marked), true
}

func unfenced(text *markdown.Text) []string {
	var lines []string
	for i, line := range text.Lines {
		if !text.Fenced(i) {
			lines = append(lines, line)
		}
	}
	return lines
}

// placeholderIndex returns where the placeholder begins in a text; -1 if it has none. What begins like one may precede it.
func placeholderIndex(text string) int {
	for from := 0; ; {
		end := strings.Index(text[from:], placeholderEnd)
		if end < 0 {
			return -1
		}
		end += from
		if at := strings.LastIndex(text[:end], placeholderStart); at >= 0 {
			return at
		}
		from = end + 1
	}
}

// placeholderLine returns the number of the first line of the Purpose, or of the one with the placeholder.
func placeholderLine(text *markdown.Text, first bool) int {
	var lines []string
	var numbers []int
	inside := false
	for i, line := range text.Lines {
		if text.Fenced(i) || i == 0 && text.Marked { // the byte-order mark hides a header
			continue
		}
		level, title := markdown.Indented(line)
		switch {
		case !inside:
			inside = level == 2 && markdown.EqualFold(strings.Trim(title, " \t"), PurposeTitle)
			continue
		case (level == 1 || level == 2) && title != "":
			return numberOf(lines, numbers)
		case first && markdown.Trim(line) != "":
			return text.Number(i)
		}
		lines, numbers = append(lines, line), append(numbers, text.Number(i))
	}
	return numberOf(lines, numbers)
}

// numberOf returns the number of the line that the placeholder begins in; 0 if none has it.
func numberOf(lines []string, numbers []int) int {
	all := strings.Join(lines, "\n")
	at := placeholderIndex(all)
	if at < 0 {
		return 0
	}
	return numbers[strings.Count(all[:at], "\n")]
}

// isMarker reports whether a text begins with TBD or TODO. If not in capitals, such a word is prose in some
// languages, unless punctuation or the end of the line follows.
func isMarker(text string) bool {
	for _, word := range []string{"TBD", "TODO"} {
		rest, ok := markdown.CutPrefixFold(text, word)
		if !ok {
			continue
		}
		next, _ := utf8.DecodeRuneInString(rest)
		if rest != "" && (next == '_' || unicode.In(next, unicode.L, unicode.N, unicode.M)) {
			continue
		}
		if strings.HasPrefix(text, word) {
			return true
		}
		after := strings.TrimLeft(rest, " \t")
		return after == "" || strings.HasPrefix(after, "\n") || strings.IndexAny(after, "\n:-\u2013\u2014.,;()[]{}") == 0
	}
	return false
}
