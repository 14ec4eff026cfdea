package change

import (
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// maxOrdinal is the maximum number of digits in the number of a list item, as in Markdown.
const maxOrdinal = 9

// Task is a line with a checkbox.
type Task struct {
	Done        bool
	Description string // trimmed
}

// ParseTasks returns the tasks of a file, in order. Tasks in fences count, too.
func ParseTasks(source string) []Task {
	var tasks []Task
	for line := range strings.SplitSeq(source, "\n") {
		if task, ok := parseTask(line); ok {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

func parseTask(line string) (Task, bool) {
	item, ok := listItem(line)
	if !ok {
		return Task{}, false
	}
	mark, text, ok := checkbox(item)
	if !ok {
		return Task{}, false
	}
	text = markdown.TrimLeft(text)
	if end := strings.IndexFunc(text, func(r rune) bool { return r == '\r' || markdown.IsSeparator(r) }); end >= 0 {
		text = text[:end]
	}
	return Task{Done: mark == "x" || mark == "X", Description: markdown.TrimRight(text)}, true
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

// checkbox returns the mark in the brackets at the start of an item, and the text after the brackets. Brackets with more
// than one UTF-16 unit are not a checkbox. Brackets before a link target are one only if they contain white space alone.
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
	if utf8.RuneCountInString(mark) > 1 || markdown.Length(mark) > 1 {
		return "", "", false
	}
	blank := mark == "" && inside != ""
	if !blank && text != "" && (text[0] == '(' || text[0] == '[') {
		return "", "", false
	}
	return mark, text, true
}
