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
		if done, total := change.CountTasks(line); done != want[0] || total != want[1] {
			t.Errorf("%q: %d of %d", line, done, total)
		}
	}
}

func TestTaskLints(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		lines  []int
	}{
		"a list without boxes":            {"text\n\n1. a\n- b", []int{3}},
		"a list in a fence":               {"```\n- a\n```", nil},
		"a list in a comment":             {"<!--\n- a\n-->", nil},
		"a list in front matter":          {"---\n- a\n---\n", nil},
		"front matter that does not end":  {"---\n- a\n", []int{2}},
		"code and then a list":            {"    - a\n\t- b\n  - c", []int{3}},
		"a number of another group":       {"## 1. A\n- [ ] 1.1 a\n- [ ] 2.1 b", []int{3}},
		"a number twice":                  {"## 1. A\n- [ ] 1.1 a\n- [ ] 1.1 b", []int{3}},
		"a number outside of groups":      {"## A\n- [ ] 1.1 a\n- [ ] 1.1 b", nil},
		"a deeper header ends no group":   {"## 1. A\n### B\n- [ ] 2.1 b", []int{3}},
		"one part is no number":           {"## 1. A\n- [ ] 2. b\n- [ ] 2 b", nil},
		"a task in a fence is not linted": {"## 1. A\n```\n- [ ] 2.1 b\n```", nil},
	} {
		var lines []int
		for _, finding := range change.LintTasks(test.source) {
			lines = append(lines, finding.Line)
		}
		if diff := cmp.Diff(test.lines, lines); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
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
	known := func(name string) bool { return name == "spec-driven" }
	for source, want := range map[string]string{
		"schema: spec-driven\n":                    "",
		"schema: spec-driven\nother: [1]\n":        "",
		"skip_specs: true\n":                       "schema: Invalid input: expected string, received undefined",
		"schema: ''\n":                             "schema: schema is required",
		"schema: 3\n":                              "schema: Invalid input: expected string, received number",
		"schema: nope\n":                           "schema: unknown schema 'nope'",
		"schema: spec-driven\ncreated: 2026-1-1\n": "created: created must be YYYY-MM-DD format",
		"schema: spec-driven\nskip_specs: 'yes'\n": "skip_specs: Invalid input: expected boolean, received string",
		"schema: [\n":                              "the file is not valid YAML",
		"schema: spec-driven\n---\nother: 1\n":     "the file is not valid YAML",
		"schema: spec-driven\nskip_specs: True\n":  "",
		"- a\n":                 "the file holds an array and not keys",
		"a: &x 1\nschema: *x\n": "schema: Invalid input: expected string, received alias",
		"schema: " + strings.Repeat("[", 100) + "\n":          "the file is not valid YAML",
		"schema: spec-driven # " + strings.Repeat("x", 70000): "the file is larger than 64 KiB",
	} {
		meta, err := change.ParseMetadata(source, known)
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

func FuzzTasks(f *testing.F) {
	f.Add("## 1. A\n- [ ] 1.1 a\n")
	f.Add("---\n<!-- - a\n\t- [x](")
	f.Fuzz(func(t *testing.T, source string) {
		done, total := change.CountTasks(source)
		lines := strings.Count(markdown.Normalize(source), "\n") + 1
		if done > total || total > lines {
			t.Errorf("%d of %d in %d lines", done, total, lines)
		}
		for _, finding := range change.LintTasks(source) {
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
		meta, err := change.ParseMetadata(source, func(string) bool { return true })
		if err == nil && meta.Schema == "" {
			t.Error("valid, and without a schema")
		}
		change.ConfigSchema(source)
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
