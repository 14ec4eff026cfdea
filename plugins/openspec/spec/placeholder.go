package spec

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// The placeholder that an archive writes into a new spec consists of placeholderStart, the name of the change, and
// placeholderEnd.
const (
	placeholderStart = "TBD - created by archiving change "
	placeholderEnd   = ". Update Purpose after archive."
)

// PlaceholderPurpose returns the placeholder for the Purpose of a capability that the given change creates.
func PlaceholderPurpose(change string) string { return placeholderStart + change + placeholderEnd }

// Placeholder reports whether the overview of a spec is a placeholder. It also returns the number of the placeholder's
// line in the text, from 1, or 0 if that line is unknown. The line can be unknown because Parse accepts a Purpose
// header of any level, whereas Placeholder searches only for a header of level 2.
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

// placeholderIndex returns the index of the first complete placeholder in text; -1 if there is none. Incomplete
// placeholders may precede the complete one.
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

// placeholderLine returns the number of a line in the Purpose section: of the first line with content if first is set,
// and otherwise of the line with the placeholder.
func placeholderLine(text *markdown.Text, first bool) int {
	var lines []string
	var numbers []int
	inside := false
	for i, line := range text.Lines {
		if text.Fenced(i) || i == 0 && text.Marked { // a line after the byte-order mark is not a header
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

// numberOf returns the number of the line in which the placeholder begins; 0 if there is no placeholder.
func numberOf(lines []string, numbers []int) int {
	all := strings.Join(lines, "\n")
	at := placeholderIndex(all)
	if at < 0 {
		return 0
	}
	return numbers[strings.Count(all[:at], "\n")]
}

// isMarker reports whether text begins with the word TBD or TODO. A word that is not all in capitals counts only before
// punctuation or the end of the line, because it is a common word in some languages.
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
