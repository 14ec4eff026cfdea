package change

import (
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// maxOrdinal is the maximum number of digits in the number of a list item. Markdown has the same limit.
const maxOrdinal = 9

// Task is a line of a task file that has a checkbox.
type Task struct {
	Done        bool
	Description string // the text after the checkbox, without surrounding white space
}

// ParseTasks returns the tasks in the source of a task file, in order. Tasks in fences count, too.
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

// listItem returns the text after the bullet or number with which a line begins. It returns false for a line that is
// not a list item.
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

// checkbox returns the mark in the brackets at the start of a list item, and the text after the brackets. Brackets with
// more than one UTF-16 unit between them are not a checkbox. Brackets before the target of a link are a checkbox only
// if nothing but white space is between them.
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
