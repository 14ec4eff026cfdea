package change

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Finding is a probable mistake in a task file.
type Finding struct {
	Line    int // counted from 1
	Message string
}

// codeIndent is the indentation in columns that makes a line code.
const codeIndent = 4

const noTasks = `This change counts as 0 tasks: no line in its tracked task files is a checkbox, so "openspec list" and "openspec status" report no work and "openspec archive" has nothing to flag as incomplete. Write each task as "- [ ] 1.1 Description".`

// LintTasks returns probable mistakes: a list without checkboxes, and tasks whose numbers do not match that of their
// group.
func LintTasks(source string) []Finding {
	text := markdown.Parse(source)
	if _, total := CountTasks(source); total == 0 {
		if line := firstItem(text); line > 0 {
			return []Finding{{line, noTasks}}
		}
		return nil
	}
	return lintNumbers(text)
}

// firstItem returns the number of the first line that is a list item; 0 if there is none. Fences, comments, front matter
// and indented code have no lists.
func firstItem(text *markdown.Text) int {
	comment := false
	for i := frontMatter(text); i < len(text.Lines); i++ {
		line := text.Lines[i]
		if text.Fenced(i) {
			continue
		}
		comment = comment || strings.HasPrefix(markdown.TrimLeft(line), "<!--")
		if comment {
			comment = !strings.Contains(line, "-->")
			continue
		}
		item, ok := listItem(line)
		spaced := item != "" && (item[0] == ' ' || item[0] == '\t') && markdown.Trim(item) != ""
		if ok && spaced && indent(line) < codeIndent {
			return text.Number(i)
		}
	}
	return 0
}

// frontMatter returns the index of the first line after the front matter.
func frontMatter(text *markdown.Text) int {
	if len(text.Lines) == 0 || markdown.TrimRight(text.Lines[0]) != "---" {
		return 0
	}
	for i, line := range text.Lines[1:] {
		if markdown.TrimRight(line) == "---" {
			return i + 2
		}
	}
	return 0
}

// indent returns the column in which a line begins; a tab advances to the next multiple of codeIndent.
func indent(line string) int {
	column := 0
	for _, r := range line {
		switch r {
		case ' ':
			column++
		case '\t':
			column += codeIndent - column%codeIndent
		default:
			return column
		}
	}
	return column
}

// lintNumbers checks the tasks below headers such as "## 2. Tests".
func lintNumbers(text *markdown.Text) []Finding {
	var findings []Finding
	first := map[string]int{}
	group, grouped := 0, false
	for i, line := range text.Lines {
		if level, title, ok := text.Header(i); ok && level <= 2 {
			group, grouped = groupNumber(level, title)
			continue
		}
		id, ok := taskID(line)
		if !grouped || !ok || text.Fenced(i) {
			continue
		}
		if lead, err := strconv.Atoi(id[:strings.IndexByte(id, '.')]); err == nil && lead != group {
			findings = append(findings, Finding{text.Number(i), fmt.Sprintf(
				`Task "%s" is under group %d, but its leading number points to group %d. Move it to group %d or renumber it.`, id, group, lead, lead)})
		}
		if line, twice := first[id]; twice {
			findings = append(findings, Finding{text.Number(i), fmt.Sprintf(
				`Task ID "%s" is duplicated; it was first declared on line %d.`, id, line)})
			continue
		}
		first[id] = text.Number(i)
	}
	return findings
}

// groupNumber returns the number of a group's header.
func groupNumber(level int, title string) (int, bool) {
	digits, rest, ok := strings.Cut(title, ".")
	if !ok || level != 2 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil && allDigits(digits)
}

// taskID returns the number that begins a task's text, of at least two parts.
func taskID(line string) (string, bool) {
	item, ok := listItem(line)
	if !ok {
		return "", false
	}
	_, text, ok := checkbox(item)
	if !ok {
		return "", false
	}
	words := strings.FieldsFunc(text, markdown.IsSpace)
	if len(words) == 0 || !strings.Contains(words[0], ".") {
		return "", false
	}
	for part := range strings.SplitSeq(words[0], ".") {
		if !allDigits(part) {
			return "", false
		}
	}
	return words[0], true
}

func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
