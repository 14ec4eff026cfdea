package change

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// TaskFile is a file of a change that contains tasks.
type TaskFile struct {
	Path string // relative to the directory of the change, with slashes
	TaskFacts
}

// Finding is a probable mistake in a task file.
type Finding struct {
	Path    string
	Line    int // line number in the file, from 1
	Message string
}

const noTasks = `This change counts as 0 tasks: no line in its tracked task files is a checkbox, so "openspec list" and "openspec status" report no work and "openspec archive" has nothing to flag as incomplete. Write each task as "- [ ] 1.1 Description".`

// LintLists returns a finding for the first list item of each file. It returns nil if one of the files has a checkbox.
func LintLists(files []TaskFile) []Finding {
	for _, file := range files {
		if file.Total > 0 {
			return nil
		}
	}
	var findings []Finding
	for _, file := range files {
		if file.FirstItem > 0 {
			findings = append(findings, Finding{file.Path, file.FirstItem, noTasks})
		}
	}
	return findings
}

// codeIndent is the minimum indentation, in columns, of indented code.
const codeIndent = 4

// firstItem returns the number of the first line that is a list item; 0 if there is no list item. It skips fences,
// comments, front matter and indented code.
func firstItem(lines []string) int {
	comment := false
	var fence string // the delimiter of the open fence; "" outside of fences
	for i := frontMatter(lines); i < len(lines); i++ {
		line := lines[i]
		if comment {
			comment = !strings.Contains(line, "-->")
			continue
		}
		run, rest := fenceRun(line)
		switch {
		case run != "" && fence == "":
			fence = run
		case run != "" && strings.HasPrefix(run, fence) && markdown.Trim(rest) == "":
			fence = ""
		}
		if run != "" || fence != "" {
			continue
		}
		if after, ok := strings.CutPrefix(markdown.TrimLeft(line), "<!--"); ok {
			comment = !strings.Contains(after, "-->")
			continue
		}
		item, ok := listItem(line)
		text := markdown.TrimLeft(item)
		if ok && text != "" && text != item && markdown.Width(markdown.Indent(line)) < codeIndent {
			return i + 1
		}
	}
	return 0
}

// fenceRun returns the run of backticks or tildes in a line that opens or closes a fence, and the text after the run.
// For any other line it returns "". At most three spaces may precede the run, whereas package markdown, which parses
// specs, allows more.
func fenceRun(line string) (run, rest string) {
	trimmed := strings.TrimLeft(line, " ")
	if trimmed == "" || trimmed[0] != '`' && trimmed[0] != '~' || len(line)-len(trimmed) >= codeIndent {
		return "", ""
	}
	rest = strings.TrimLeft(trimmed, trimmed[:1])
	run = trimmed[:len(trimmed)-len(rest)]
	if len(run) < 3 {
		return "", ""
	}
	return run, rest
}

// frontMatter returns the index of the first line after the front matter.
func frontMatter(lines []string) int {
	if markdown.TrimRight(strings.TrimPrefix(lines[0], "\uFEFF")) != "---" {
		return 0
	}
	for i, line := range lines[1:] {
		if markdown.TrimRight(line) == "---" {
			return i + 2
		}
	}
	return 0
}

var (
	groupNumber = regexp.MustCompile(`^[ \t]+(\d+)\.(?:[ \t]|\r?$)`)
	taskID      = regexp.MustCompile(`^(\d+(?:\.\d+)+[A-Za-z]*)(?:` + markdown.Space + `|$)`)
)

// LintNumbers returns findings about the numbers of tasks below headers such as "## 2. Tests".
func LintNumbers(files []TaskFile) []Finding {
	if len(files) == 1 && files[0].Orderly {
		return nil
	}
	var findings []Finding
	first := map[string]Finding{}
	for _, file := range files {
		for _, task := range file.Numbered {
			this := Finding{Path: file.Path, Line: task.Line}
			if lead := task.lead(); !sameNumber(lead, task.Group) {
				this.Message = fmt.Sprintf(`Task "%s" is under group %s, but its leading number points to group %s. Move it to group %s or renumber it.`, task.ID, task.Group, lead, lead)
				findings = append(findings, this)
			}
			earlier, twice := first[task.ID]
			if !twice {
				first[task.ID] = this
				continue
			}
			this.Message = fmt.Sprintf(`Task ID "%s" is duplicated; it was first declared %s.`, task.ID, earlier.place(file.Path))
			findings = append(findings, this)
		}
	}
	return findings
}

// place returns the location of a finding. It omits the name of the file if the finding is in the file from.
func (f Finding) place(from string) string {
	if f.Path == from {
		return fmt.Sprintf("on line %d", f.Line)
	}
	return fmt.Sprintf("in %s on line %d", f.Path, f.Line)
}

// sameNumber reports whether two strings of digits are the same number if leading zeros are ignored.
func sameNumber(a, b string) bool { return strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0") }
