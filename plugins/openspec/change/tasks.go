package change

import (
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// maxOrdinal is the maximum number of digits in the number of a list item, as in Markdown.
const maxOrdinal = 9

// CountTasks returns how many tasks a task file has and how many of them are done. Tasks in fences count, too.
func CountTasks(source string) (done, total int) {
	for line := range strings.SplitSeq(markdown.Normalize(source), "\n") {
		item, ok := listItem(line)
		if !ok {
			continue
		}
		mark, _, ok := checkbox(item)
		if !ok {
			continue
		}
		total++
		if mark == "x" || mark == "X" {
			done++
		}
	}
	return done, total
}

// listItem returns the text after the bullet or number that begins a line.
func listItem(line string) (string, bool) {
	line = markdown.TrimLeft(line)
	if line == "" {
		return "", false
	}
	if strings.IndexByte("-*+", line[0]) >= 0 {
		return line[1:], true
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits == 0 || digits > maxOrdinal || digits == len(line) || strings.IndexByte(".)", line[digits]) < 0 {
		return "", false
	}
	return line[digits+1:], true
}

// checkbox returns the mark in the brackets that begin an item, and the text after them. Brackets with more than one
// character, or followed by a link target, are not a checkbox.
func checkbox(item string) (mark, text string, ok bool) {
	rest, ok := strings.CutPrefix(markdown.TrimLeft(item), "[")
	if !ok {
		return "", "", false
	}
	inside, text, ok := strings.Cut(rest, "]")
	if !ok {
		return "", "", false
	}
	mark = markdown.Trim(inside)
	if utf8.RuneCountInString(mark) > 1 {
		return "", "", false
	}
	if mark != "" && text != "" && (text[0] == '(' || text[0] == '[') {
		return "", "", false
	}
	return mark, text, true
}
