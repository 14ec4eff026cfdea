package validation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

const head = "# t\n\n## Purpose\nWhat this is for, said at a length that nobody calls too brief.\n\n## Requirements\n"

// compare checks the issues. Each issue, in the form "LEVEL path: message", must begin with the corresponding element
// of want.
func compare(t *testing.T, name string, want []string, issues []validation.Issue) {
	t.Helper()
	var got []string
	for i, issue := range issues {
		text := string(issue.Level) + " " + issue.Path + ": " + issue.Message
		if i < len(want) {
			text = text[:min(len(text), len(want[i]))]
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func TestSpec(t *testing.T) {
	const scenario = "\n#### Scenario: s\n- x\n"
	for name, test := range map[string]struct {
		source string
		want   []string
	}{
		"19 clean":                {head + "### Requirement: A\nIt SHALL.\n" + scenario, nil},
		"11 without requirements": {head, []string{"ERROR requirements: Spec must have at least one requirement"}},
		"11 without the section":  {"## Purpose\nx\n", []string{"ERROR file: Spec must have a Requirements section. M"}},
		"12 a brief Purpose":      {"## Purpose\nx\n## Requirements\n### Requirement: A\nIt SHALL.\n" + scenario, []string{"WARNING overview: Purpose section is too brief (less than "}},
		"13 no scenario":          {head + "### Requirement: A\nIt SHALL.\n", []string{"ERROR requirements.0.scenarios: Requirement must have at least one scena", "WARNING requirements[0].scenarios: Requirement must have at least one scena"}},
		"14 no keyword":           {head + "### Requirement: A\nIt does.\n" + scenario, []string{`WARNING requirements[0]: Requirement "A" should contain SHALL or M`}},
		"14 no body":              {head + "### Requirement: A\n" + scenario, []string{`ERROR requirements[0]: Requirement "A" must contain SHALL or MUS`}},
		"14 a long text":          {head + "### Requirement: A\nIt SHALL " + strings.Repeat("go ", 200) + "\n" + scenario, []string{"INFO requirements[0]: Requirement text is very long (>500 char"}},
	} {
		compare(t, name, test.want, validation.Spec(spec.NewMain(test.source)))
	}
}

func input(source string) validation.Input {
	target := head + "### Requirement: Old\nIt SHALL.\n\n#### Scenario: s\n- x\n"
	return inputFor(source, target)
}

func inputFor(source, target string) validation.Input {
	text := markdown.Parse(source)
	parsed := delta.Parse(text)
	facts := validation.DeltaFactsOf(text, parsed)
	return validation.Input{ID: "add-x", HasFiles: true, Deltas: []validation.File{{ID: "inv", Facts: &facts, Delta: parsed, Target: spec.NewMain(target)}}}
}

func TestChange(t *testing.T) {
	const scenario = "\n#### Scenario: s\n- x\n"
	skip := input("## ADDED Requirements\n### Requirement: A\nIt SHALL.\n" + scenario)
	skip.Metadata.SkipSpecs = true
	broken := validation.Input{ID: "x", Invalid: &change.Invalid{Reason: "schema: …", SkipSpecs: true}, Tasks: validation.Tasks{Files: []change.TaskFile{{Path: "tasks.md", TaskFacts: change.TaskFactsOf("- a\n")}}}}
	for name, test := range map[string]struct {
		in   validation.Input
		want []string
	}{
		"19 clean":        {input("## ADDED Requirements\n### Requirement: A\nIt SHALL.\n" + scenario), nil},
		"19 no delta":     {validation.Input{ID: "x"}, []string{"ERROR file: Change must have at least one delta. No "}},
		"20 no scenario":  {input("## ADDED Requirements\n### Requirement: A\nIt SHALL.\n"), []string{`ERROR inv/spec.md: ADDED "A" must include at least one scenar`}},
		"25 contradicted": {skip, []string{"ERROR file: skip_specs is set in .openspec.yaml but "}},
		"25 not heeded":   {broken, []string{"ERROR .openspec.yaml: skip_specs is set but .openspec.yaml is ", "ERROR file: Change must have at least one delta. No "}},
		"26 a scenario gets lost": {input("## MODIFIED Requirements\n### Requirement: Old\nIt SHALL.\n#### Scenario: t\n- x\n"),
			[]string{`ERROR inv/spec.md: MODIFIED "Old" omits scenario(s) the cur`}},
		"26 also through a rename": {input("## RENAMED Requirements\nFROM: ### Requirement: Old\nTO: ### Requirement: New\n## MODIFIED Requirements\n### Requirement: New\nIt SHALL.\n#### Scenario: t\n- x\n"),
			[]string{`ERROR inv/spec.md: MODIFIED "New" omits scenario(s) the cur`}},
		"27 archive would refuse": {input("## MODIFIED Requirements\n### Requirement: Nope\nIt SHALL.\n" + scenario), []string{"INFO inv/spec.md: Archive would refuse this delta: inv MODI"}},
	} {
		compare(t, name, test.want, validation.Change(test.in))
	}
	if issues := validation.BeforeArchive(input("## MODIFIED Requirements\n### Requirement: Old\nIt SHALL.\n#### Scenario: t\n- x\n")); issues != nil {
		t.Errorf("archive looks for lost scenarios when it merges, not before: %v", issues)
	}
}

func TestValid(t *testing.T) {
	for level, want := range map[validation.Level][2]bool{validation.Error: {false, false}, validation.Warning: {true, false}, validation.Info: {true, true}} {
		issues := []validation.Issue{{Level: level}}
		if got := [2]bool{validation.Valid(issues, false), validation.Valid(issues, true)}; got != want {
			t.Errorf("%s: %v", level, got)
		}
	}
}

// FuzzBoth checks that the line number of every issue is that of a line in the text.
func FuzzBoth(f *testing.F) {
	f.Add(head + "### Requirement: A\n## ADDED Requirements\n### Requirement: B\n")
	f.Add("## RENAMED Requirements\nTO: ### Requirement: A\n### Requirement: C\n## x\n### Requirement: D")
	f.Fuzz(func(t *testing.T, source string) {
		lines := len(markdown.Parse(source).Lines)
		for _, issue := range append(validation.Spec(spec.NewMain(source)), validation.Change(input(source))...) {
			if issue.Line < 0 || issue.Line > lines || issue.Message == "" || issue.Path == "" {
				t.Errorf("%q: %+v", source, issue)
			}
		}
	})
}
