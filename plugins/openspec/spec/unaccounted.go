package spec

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Unaccounted returns the lines of a main spec that the format does not know: outside of the title, the Purpose, and a
// requirement's header, statement and scenarios. Deleting the file deletes them.
func Unaccounted(text *markdown.Text) []string {
	a := &account{text: text}
	for i, line := range text.Lines {
		if markdown.Trim(line) == "" {
			a.joined = false
			continue
		}
		if !a.knows(i, line) {
			a.left = append(a.left, markdown.Trim(line))
			a.joined = false
			continue
		}
		a.joined = true
	}
	return a.left
}

// OtherSections returns the titles of a main spec's level-2 sections except Requirements, in order.
func OtherSections(text *markdown.Text) []string {
	var titles []string
	for i := range text.Lines {
		if level, title, ok := text.Header(i); ok && level == 2 && !strings.EqualFold(title, RequirementsTitle) {
			titles = append(titles, title)
		}
	}
	return titles
}

// place is the part of a spec that a line is in.
type place int

const (
	before place = iota
	titled
	purposed
	required
	stated  // in a requirement, above its first scenario
	staged  // in a scenario
	unknown // anywhere else
)

// account classifies the lines of a spec one by one.
type account struct {
	text   *markdown.Text
	at     place
	joined bool // the line above is known and not blank
	left   []string
}

// knows reports whether the line at an index is part of the format, and advances the state.
func (a *account) knows(i int, line string) bool {
	if level, title, ok := a.text.Header(i); ok {
		return a.header(level, title, line)
	}
	switch a.at {
	case purposed, stated:
		return true
	case staged:
		return a.text.Fenced(i) || isStep(line, a.joined)
	}
	return false
}

func (a *account) header(level int, title, line string) bool {
	name, isRequirement := requirement.ParseHeader(line)
	switch inside := a.at == required || a.at == stated || a.at == staged; {
	case level == 1 && a.at == before:
		a.at = titled
	case level == 2 && strings.EqualFold(title, PurposeTitle):
		a.at = purposed
	case level == 2 && strings.EqualFold(title, RequirementsTitle):
		a.at = required
	case level > 2 && a.at == purposed:
	case isRequirement && name != "" && inside:
		a.at = stated
	case level == 4 && (a.at == stated || a.at == staged):
		a.at = staged
	case level > 4 && inside:
		return false // the following lines still belong to the scenario
	default:
		a.at = unknown
		return false
	}
	return true
}

// isStep reports whether a line of a scenario is a list item or continues one.
func isStep(line string, joined bool) bool {
	trimmed := markdown.TrimLeft(line)
	rest := strings.TrimLeft(trimmed, "0123456789")
	switch {
	case strings.IndexByte("-*+", trimmed[0]) >= 0:
		return true
	case rest != trimmed && rest != "" && strings.IndexByte(".)", rest[0]) >= 0:
		return true
	case trimmed != line: // indented
		return true
	}
	return joined && trimmed[0] != '<'
}
