package validation

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/merge"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

// maxStatement is the maximum length of a requirement's text, in UTF-16 units. A longer text causes an issue.
const maxStatement = 500

// NoRequirements is the message about a main spec without requirements.
const NoRequirements = "Spec must have at least one requirement"

const (
	noScenario   = "Requirement must have at least one scenario"
	scenarioHelp = ". Scenarios must use level-4 headers. Convert bullet lists into:\n#### Scenario: Short name\n- **WHEN** ...\n- **THEN** ...\n- **AND** ..."
	sectionsHelp = ". Missing required sections. Expected headers: \"## Purpose\" and \"## Requirements\". Example:\n" +
		"## Purpose\n[brief purpose]\n\n## Requirements\n### Requirement: Clear requirement statement\nUsers SHALL ...\n\n" +
		"#### Scenario: Descriptive name\n- **WHEN** ...\n- **THEN** ..."
	placeholder = "Purpose section is still a placeholder rather than a Purpose anyone wrote (the sentence `openspec archive` writes for a new capability, or a `TBD`/`TODO` marker left in its place). " +
		"Replace it with what this capability is for, editing the main spec directly: a `## Purpose` in a delta is read only when the capability is created, so it cannot replace this one."
)

// Spec returns the issues of a main spec.
func Spec(main *spec.Main) []Issue {
	issues, _ := check(main)
	return issues
}

// check returns the issues of a main spec, and the number of its requirements.
func check(main *spec.Main) (issues []Issue, requirements int) {
	text := main.Text()
	parsed, err := spec.Parse("", text)
	if err != nil {
		return []Issue{{Level: Error, Path: "file", Message: err.Error() + sectionsHelp}}, 0
	}
	all := &list{}
	all.shape(parsed)
	all.path = "file"
	for _, problem := range main.Problems() {
		all.add(Error, problem.Line, "%s", problem.Message)
	}
	all.purpose(parsed, text)
	for i, one := range parsed.Requirements {
		if markdown.Length(one.Text) > maxStatement {
			all.path = fmt.Sprintf("requirements[%d]", i)
			all.add(Info, 0, "Requirement text is very long (>%d characters). Consider breaking it down.", maxStatement)
		}
		if len(one.Scenarios) == 0 {
			all.path = fmt.Sprintf("requirements[%d].scenarios", i)
			all.add(Warning, 0, "%s", noScenario+scenarioHelp)
		}
	}
	all.keywords(main.Parts().Blocks)
	return all.issues, len(parsed.Requirements)
}

// shape adds issues if a spec has no requirements, or if a requirement has no scenarios.
func (l *list) shape(parsed *spec.Spec) {
	if len(parsed.Requirements) == 0 {
		l.path = "requirements"
		l.add(Error, 0, NoRequirements)
	}
	for i, one := range parsed.Requirements {
		if len(one.Scenarios) == 0 {
			l.path = fmt.Sprintf("requirements.%d.scenarios", i)
			l.add(Error, 0, noScenario)
		}
	}
}

func (l *list) purpose(parsed *spec.Spec, text *markdown.Text) {
	l.path = "overview"
	if line, found := spec.Placeholder(parsed.Overview, text); found {
		l.add(Warning, line, placeholder)
	} else if markdown.Length(parsed.Overview) < merge.BriefPurpose {
		l.add(Warning, 0, "Purpose section is too brief (less than %d characters)", merge.BriefPurpose)
	}
}

func (l *list) keywords(blocks []requirement.Block) {
	for i, block := range blocks {
		l.path = fmt.Sprintf("requirements[%d]", i)
		subject := fmt.Sprintf(`Requirement "%s"`, block.Name)
		switch statement := block.Statement(); {
		case statement == "":
			l.add(Error, 0, "%s", noKeyword(subject, "must", block.Name))
		case !requirement.HasKeyword(statement):
			l.add(Warning, 0, "%s", noKeyword(subject, "should", block.Name))
		}
	}
}
