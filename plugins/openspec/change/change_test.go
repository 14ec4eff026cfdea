package change_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

func TestTasks(t *testing.T) {
	for line, want := range map[string][2]int{
		"- [ ] a": {0, 1}, "* [x] a": {1, 1}, "+ [X] a": {1, 1}, "1. [ ] a": {0, 1}, "123456789) [x] a": {1, 1}, "1234567890) [x] a": {0, 0},
		"    - [ ] deep": {0, 1}, "-[x] tight": {1, 1}, "- [] empty": {0, 1}, "- [ x] padded": {1, 1}, "- [~] other": {0, 1}, "- [WIP] x": {0, 0},
		"- [x](y) link": {0, 0}, "- [ ](y)": {0, 1}, "[x] no item": {0, 0}, "- [x": {0, 0}, "- x": {0, 0},
	} {
		if facts := change.TaskFactsOf(line); facts.Done != want[0] || facts.Total != want[1] {
			t.Errorf("%q: %d of %d tasks are done", line, facts.Done, facts.Total)
		}
	}
}

func TestTaskLints(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		lines  []int
	}{
		"a list without boxes":           {"text\n\n1. a\n- b", []int{3}},
		"a list in a fence":              {"```\n- a\n```", nil},
		"a list in a comment":            {"<!--\n- a\n-->", nil},
		"a list in front matter":         {"---\n- a\n---\n", nil},
		"front matter that does not end": {"---\n- a\n", []int{2}},
		"code and then a list":           {"    - a\n\t- b\n  - c", []int{3}},
		"a number of another group":      {"## 1. A\n- [ ] 1.1 a\n- [ ] 2.1 b", []int{3}},
		"a number twice":                 {"## 1. A\n- [ ] 1.1 a\n- [ ] 1.1 b", []int{3}},
		"a number outside of groups":     {"## A\n- [ ] 1.1 a\n- [ ] 1.1 b", nil},
		"a deeper header ends no group":  {"## 1. A\n### B\n- [ ] 2.1 b", []int{3}},
		"one part is no number":          {"## 1. A\n- [ ] 2. b\n- [ ] 2 b", nil},
		"a fence hides no task":          {"## 1. A\n```\n- [ ] 2.1 b\n```", []int{3}},
		"a group may be indented":        {"   ## 1. A\n- [ ] 2.1 b", []int{2}},
		"four spaces make no group":      {"    ## 1. A\n- [ ] 2.1 b", nil},
		"a title does not end a group":   {"## 1. A\n# B\n- [ ] 2.1 b", []int{3}},
		"a header without a number does": {"## 1. A\n##\n- [ ] 2.1 b", nil},
		"a letter follows the number":    {"## 1. A\n- [ ] 2.1a b", []int{2}},
		"zeros before a number":          {"## 01. A\n- [ ] 1.1 b", nil},
		"a lone CR ends no line":         {"text\r- a\n", nil},
	} {
		var lines []int
		for _, finding := range lint(test.source) {
			lines = append(lines, finding.Line)
		}
		if diff := cmp.Diff(test.lines, lines); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// lint returns the findings of all checks about one task file with the given source.
func lint(source string) []change.Finding {
	files := []change.TaskFile{{Path: "tasks.md", TaskFacts: change.TaskFactsOf(source)}}
	return append(change.LintLists(files), change.LintNumbers(files)...)
}

func TestTaskIsDuplicatedInAnotherFile(t *testing.T) {
	findings := change.LintNumbers([]change.TaskFile{{Path: "a.md", TaskFacts: change.TaskFactsOf("## 1. A\n- [ ] 1.1 x")}, {Path: "b.md", TaskFacts: change.TaskFactsOf("## 1. B\n- [ ] 1.1 y")}})
	if len(findings) != 1 || findings[0].Path != "b.md" || !strings.HasSuffix(findings[0].Message, "in a.md on line 2.") {
		t.Errorf("%+v", findings)
	}
}

func TestProposals(t *testing.T) {
	for source, want := range map[string]string{
		"# Counting\n": "Counting", "# change: Best\n": "Best", "# Change:x\n": "Change:x", "# Proposal\n": "id", "x\n": "id", "```\n# code\n```\n": "code",
	} {
		p, err := change.ParseProposal("id", markdown.Parse(source+"## Why\nx\n## What Changes\ny"))
		if err != nil || p.Title != want {
			t.Errorf("%q: %+v, %v", source, p, err)
		}
	}
	if _, err := change.ParseProposal("id", markdown.Parse("## Why\n\n## What Changes\ny")); err == nil || err.Error() != "Change must have a Why section" {
		t.Errorf("got %v", err)
	}
}

func TestMetadata(t *testing.T) {
	for source, want := range map[string]string{
		"schema: spec-driven\n":                    "",
		"schema: spec-driven\nother: [1]\n":        "",
		"skip_specs: true\n":                       "schema: Invalid input: expected string, received undefined",
		"schema: ''\n":                             "schema: schema is required",
		"schema: 3\n":                              "schema: Invalid input: expected string, received number",
		"schema: spec-driven\ncreated: 2026-1-1\n": "created: created must be YYYY-MM-DD format",
		"schema: spec-driven\nskip_specs: 'yes'\n": "skip_specs: Invalid input: expected boolean, received string",
		"schema: [\n":                              "the file is not valid YAML",
		"schema: spec-driven\n---\nother: 1\n":     "the file is not valid YAML",
		"schema: spec-driven\nskip_specs: True\n":  "",
		"- a\n":                            "Invalid input: expected object, received array",
		"":                                 "Invalid input: expected object, received null",
		"a: &x 1\nschema: *x\n":            "schema: Invalid input: expected string, received number",
		"a: &x spec-driven\nschema: *x\n":  "",
		"schema: a\nschema: b\n":           "the file is not valid YAML",
		"schema: s\ngoal: ''\n":            "goal: Too small: expected string to have >=1 characters",
		"schema: s\naffected_areas: [1]\n": "affected_areas.0: Invalid input: expected string, received number",
		"schema: s\ninitiative: {store: A, id: b}\n":             "initiative.store: Store id must be kebab-case with lowercase letters, numbers, and single hyphen separators",
		"schema: s\ninitiative: {store: a, id: b, c: 1, d: 2}\n": "initiative: Unrecognized keys: \"c\", \"d\"",
		"schema: " + strings.Repeat("[", 100) + "\n":             "the file is not valid YAML",
		"schema: spec-driven # " + strings.Repeat("x", 270000):   "the file is larger than 256 KiB",
	} {
		meta, err := change.ParseMetadata(source)
		got := ""
		if invalid := (*change.Invalid)(nil); errors.As(err, &invalid) {
			got = invalid.Reason
		} else if meta.Schema != "spec-driven" {
			t.Errorf("%.40q: %+v, %v", source, meta, err)
		}
		if got != want {
			t.Errorf("%.40q: got %q, want %q", source, got, want)
		}
	}
}

func TestMarkersOfInvalidMetadata(t *testing.T) {
	for source, want := range map[string][2]bool{
		"skip_specs: true\n": {true, false}, "skip_specs: false\n": {}, "skip_specs: null\n": {true, false}, "retire_capabilities: x\n": {false, true},
		"[\n  'skip_specs' :\n": {true, false}, "[\n# skip_specs: true\n": {}, "[\r\"retire_capabilities\": x": {false, true}, "- skip_specs\n": {},
	} {
		_, err := change.ParseMetadata(source)
		invalid := (*change.Invalid)(nil)
		if !errors.As(err, &invalid) || invalid.SkipSpecs != want[0] || invalid.Retire != want[1] {
			t.Errorf("%q: %+v", source, invalid)
		}
	}
}

func TestConfigIsReadAsFarAsValid(t *testing.T) {
	got := change.ParseConfig("schema: [x]\ncontext: c\nrules:\n  tasks: [a, '', b]\n  specs: x\noperations:\n  apply: {guidance: [g]}\n  archive: {guidance: [1]}\n")
	want := change.Config{Context: "c", Rules: map[string][]string{"tasks": {"a", "b"}}, Guidance: map[string][]string{"apply": {"g"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := change.ParseConfig("context: " + strings.Repeat("x", 51<<10)); got.Context != "" {
		t.Error("ParseConfig read a context that is too long")
	}
}

func FuzzTasks(f *testing.F) {
	f.Add("## 1. A\n- [ ] 1.1 a\n")
	f.Add("---\n<!-- - a\n\t- [x](")
	f.Fuzz(func(t *testing.T, source string) {
		facts := change.TaskFactsOf(source)
		done, total := facts.Done, facts.Total
		lines := strings.Count(source, "\n") + 1
		if done > total || total > lines {
			t.Errorf("%d of %d tasks are done in %d lines", done, total, lines)
		}
		for _, finding := range lint(source) {
			if finding.Line < 1 || finding.Line > lines {
				t.Errorf("line %d of %d", finding.Line, lines)
			}
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add("schema: spec-driven\nskip_specs: true\n")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, source string) {
		meta, err := change.ParseMetadata(source)
		if err == nil && meta.Schema == "" {
			t.Error("the metadata file is accepted without a schema")
		}
		change.ParseConfig(source)
	})
}

func FuzzProposal(f *testing.F) {
	f.Add("# Change: x\n## Why\ny\n## What Changes\n- **a:** Add b\n")
	f.Fuzz(func(t *testing.T, source string) {
		p, err := change.ParseProposal("id", markdown.Parse(source))
		if err != nil {
			return
		}
		if p.Title == "" || p.Why == "" || p.WhatChanges == "" {
			t.Errorf("%+v", p)
		}
		p.Bullets()
	})
}
