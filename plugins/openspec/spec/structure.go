package spec

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Problem is an error in the structure of a main spec that makes a merge unsafe.
type Problem struct {
	Line    int // line number in the file, from 1
	Message string
}

// Operations contains the operations of a delta, in the order in which results list them.
var Operations = []string{"ADDED", "MODIFIED", "REMOVED", "RENAMED"}

// DeltaSection returns the operation of a delta section with the given title; "" if a delta section cannot have that
// title.
func DeltaSection(title string) string {
	for _, operation := range Operations {
		if markdown.EqualFold(title, operation+" "+RequirementsTitle) {
			return operation
		}
	}
	return ""
}

// isDeltaHeader reports whether rest, the text after the # of a header, is the title of a delta section. Any spacing is
// allowed.
func isDeltaHeader(rest string) bool {
	title := markdown.Trim(rest)
	at := strings.IndexFunc(title, markdown.IsSpace)
	return at > 0 && DeltaSection(title[:at]+" "+markdown.TrimLeft(title[at:])) != ""
}

// Structure returns the problems with the headers of a main spec: delta sections, requirements outside of the
// Requirements section, and duplicate names.
func Structure(text *markdown.Text) []Problem {
	start, end := section(text)
	declared := map[string]int{}
	var problems []Problem
	add := func(i int, format string, arguments ...any) {
		header := markdown.Trim(text.Lines[i])
		problems = append(problems, Problem{text.Number(i), fmt.Sprintf(format, append([]any{header}, arguments...)...)})
	}
	for i, line := range text.Lines {
		level := text.Level(i)
		if i == 0 && text.Marked {
			level = 0 // a line after the byte-order mark is not a header
		}
		if level == 2 && isDeltaHeader(line[level:]) {
			add(i, `Main spec contains delta header "%s". Delta headers are only valid inside openspec/changes/<name>/specs/<capability-path>/spec.md and truncate the parsed ## Requirements section.`)
			continue
		}
		name, isRequirement := requirement.ParseHeader(line)
		if level != 3 || !isRequirement {
			continue
		}
		if start < 0 || i < start || i >= end {
			add(i, `Requirement header "%s" appears outside the main ## Requirements section. Main specs only parse requirements inside that section, so this requirement is currently invisible to validate, list, and archive.`)
			continue
		}
		if first, twice := declared[name]; twice {
			add(i, `Requirement header "%s" duplicates the requirement declared on line %d. Requirement names must be unique so spec updates cannot discard one block while updating another.`, first)
			continue
		}
		declared[name] = text.Number(i)
	}
	return problems
}
