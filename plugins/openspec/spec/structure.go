package spec

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Problem is a reason in a main spec why a merge is unsafe.
type Problem struct {
	Line    int // counted from 1
	Message string
}

// Operations of a delta, in the order of views.
var Operations = []string{"ADDED", "MODIFIED", "REMOVED", "RENAMED"}

// DeltaSection returns the operation of the delta section with a title; "": none.
func DeltaSection(title string) string {
	for _, operation := range Operations {
		if strings.EqualFold(title, operation+" "+RequirementsTitle) {
			return operation
		}
	}
	return ""
}

// Structure returns the problems of a main spec's headers: delta sections, requirements outside of their section, and
// duplicate names.
func Structure(text *markdown.Text) []Problem {
	start, end := section(text)
	declared := map[string]int{}
	var problems []Problem
	for i, line := range text.Lines {
		if text.Fenced(i) {
			continue
		}
		level, title, ok := text.Header(i)
		if ok && level == 2 && DeltaSection(title) != "" {
			problems = append(problems, Problem{text.Number(i), fmt.Sprintf(
				`Main spec contains delta header "%s". Delta headers are only valid inside openspec/changes/<name>/specs/<capability-path>/spec.md and truncate the parsed ## Requirements section.`, markdown.Trim(line))})
			continue
		}
		name, isRequirement := requirement.ParseHeader(line)
		if !ok || !isRequirement || name == "" {
			continue
		}
		if start < 0 || i < start || i >= end {
			problems = append(problems, Problem{text.Number(i), fmt.Sprintf(
				`Requirement header "%s" appears outside the main ## Requirements section. Main specs only parse requirements inside that section, so this requirement is currently invisible to validate, list, and archive.`, markdown.Trim(line))})
			continue
		}
		if first, twice := declared[name]; twice {
			problems = append(problems, Problem{text.Number(i), fmt.Sprintf(
				`Requirement header "%s" duplicates the requirement declared on line %d. Requirement names must be unique so spec updates cannot discard one block while updating another.`, markdown.Trim(line), first)})
			continue
		}
		declared[name] = text.Number(i)
	}
	return problems
}
