package merge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/merge"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

const head = "# t\n\n## Purpose\nWhat it is for.\n\n## Requirements\n\n"

// block returns the lines of a requirement with one scenario.
func block(name, text string) string {
	return "### Requirement: " + name + "\n" + text + "\n\n#### Scenario: s\n- x\n"
}

func apply(target *string, source string) (*merge.Result, error) {
	in := merge.Input{ID: "inv", Change: "add-x", Delta: delta.Parse(markdown.Parse(source)), Path: "/p/spec.md"}
	if target != nil {
		in.Target = spec.NewMain(*target)
	}
	return merge.Apply(in)
}

func TestOrderOfOperations(t *testing.T) {
	target := head + block("One", "a") + "\n" + block("Two", "b") + "\n" + block("Three", "c")
	result, err := apply(&target, "## ADDED Requirements\n"+block("Zeta", "z")+block("One", "new")+"## MODIFIED Requirements\n"+block("Uno", "better")+
		"## REMOVED Requirements\n### Requirement: Three\n## RENAMED Requirements\nFROM: ### Requirement: One\nTO: ### Requirement: Uno\n")
	if err != nil {
		t.Fatal(err)
	}
	want := head + block("Uno", "better") + "\n" + block("Two", "b") + "\n" + block("Zeta", "z") + "\n" + block("One", "new")
	if diff := cmp.Diff(want, result.Text); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(merge.Counts{Added: 2, Modified: 1, Removed: 1, Renamed: 1}, result.Counts); diff != "" || result.Left != 4 {
		t.Errorf("%d left (-want +got)\n%s", result.Left, diff)
	}
}

func TestApplyRefusesContradictoryDelta(t *testing.T) {
	target := head + block("One", "a") + "\n" + block("Two", "b")
	added, modified, removed, renamed := "## ADDED Requirements\n", "## MODIFIED Requirements\n", "## REMOVED Requirements\n", "## RENAMED Requirements\n"
	from := func(a, b string) string { return "FROM: ### Requirement: " + a + "\nTO: ### Requirement: " + b + "\n" }
	for name, test := range map[string]struct{ source, reason string }{
		"35 removed and added":        {added + block("One", "x") + removed + "### Requirement: One\n", "multiple sections (ADDED and REMOVED)"},
		"37 added and there":          {added + block("One", "x"), "already exists"},
		"37 added in another case":    {added + block("one", "x"), "differs only in case or spacing"},
		"37 removed with a typo":      {removed + "### Requirement: ONE\n", `but "### Requirement: One" exists`},
		"37 renamed from nothing":     {renamed + from("Nope", "New"), "source not found"},
		"37 renamed to what is there": {renamed + from("One", "Two"), "target already exists"},
		"37 renamed to another case":  {renamed + from("One", "TWO"), "choose a distinct name"},
		"45 a swap":                   {renamed + from("One", "Two") + from("Two", "One"), "target already exists"},
		"26 a scenario gets lost":     {modified + "### Requirement: One\nx\n\n#### Scenario: t\n- x\n", `not present in the modified block: "s"`},
		"modified and not there":      {modified + block("Nope", "x"), "not found"},
		"nothing at all":              {"# x\n", "no operations"},
		"an end of a rename":          {renamed + "FROM: ### Requirement: One\n", "no matching TO:"},
		"added twice":                 {added + block("A", "x") + block("A", "x"), "duplicate requirement in ADDED"},
		"modified under its old name": {modified + block("One", "x") + renamed + from("One", "Uno"), "must reference the NEW header"},
	} {
		if _, err := apply(&target, test.source); err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: got %v, want %q", name, err, test.reason)
		}
	}
	if _, err := apply(nil, modified+block("One", "x")); err == nil || !strings.Contains(err.Error(), "target spec does not exist") {
		t.Errorf("Apply of a modification to a new spec: %v", err)
	}
	if _, err := apply(new(head+block("A", "x")+"## ADDED Requirements\n"), added+block("B", "x")); err == nil || !strings.Contains(err.Error(), "line 13: Main spec contains delta header") {
		t.Errorf("Apply to an invalid main spec: %v", err)
	}
}

func TestAppliedOperationsAreSkipped(t *testing.T) {
	target := head + block("One", "a") + "\n" + block("Two", "b")
	result, err := apply(&target, "## ADDED Requirements\n"+block("Two", "b")+"## MODIFIED Requirements\n"+block("One", "a")+
		"## REMOVED Requirements\n### Requirement: Gone\n## RENAMED Requirements\nFROM: ### Requirement: Old\nTO: ### Requirement: One\n")
	if err != nil || result.Counts.Total() != 0 || len(result.Warnings) != 1 || result.Text != target {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestNewCapability(t *testing.T) {
	for name, test := range map[string]struct{ purpose, begins, warns string }{
		"with a Purpose":           {"## Purpose\nWhat this capability is for, said at sufficient length.\n", "# inv Specification\n\n## Purpose\nWhat this capability is for", ""},
		"without one":              {"", "# inv Specification\n\n## Purpose\nTBD - created by archiving change add-x. Update Purpose after archive.\n", ""},
		"with a comment for one":   {"## Purpose\n<!-- x -->\n", "# inv Specification\n\n## Purpose\nTBD - ", ""},
		"with a comment in it":     {"## Purpose\nText <!-- x -->\n", "# inv Specification\n\n## Purpose\nTBD - ", "delta Purpose ignored (it would"},
		"with a short one":         {"## Purpose\nShort.\n", "# inv Specification\n\n## Purpose\nShort.\n", "under 50 characters"},
		"with a requirement in it": {"## Purpose\nText\n\n### Requirement: X\n", "# inv Specification\n\n## Purpose\nTBD - ", "delta Purpose ignored (it would"},
	} {
		result, err := apply(nil, test.purpose+"## ADDED Requirements\n"+block("A", "x"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if warnings := strings.Join(result.Warnings, "\n"); !strings.HasPrefix(result.Text, test.begins) || !strings.Contains(warnings, test.warns) || (test.warns == "") != (warnings == "") {
			t.Errorf("%s: %q\n%s", name, warnings, result.Text)
		}
	}
}

func TestCRLFIsKept(t *testing.T) {
	target := strings.ReplaceAll(head+block("One", "a"), "\n", "\r\n")
	result, err := apply(&target, "## ADDED Requirements\n"+block("Two", "b"))
	if err != nil || strings.Count(result.Text, "\n") != strings.Count(result.Text, "\r\n") || !strings.HasPrefix(result.Text, target) {
		t.Errorf("%v, %q", err, result.Text)
	}
}

func TestHeadingRemovedWithItsBlock(t *testing.T) {
	target := head + block("One", "a") + "\n### Notes\nkept nowhere\n"
	result, err := apply(&target, "## MODIFIED Requirements\n"+block("One", "b"))
	if err != nil || len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], `"### Notes" sits inside requirement "One"`) {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestUnclosedFenceHidesNoRequirement(t *testing.T) {
	target := head + block("One", "a") + "```\nopen\n"
	if _, err := apply(&target, "## ADDED Requirements\n"+block("Two", "b")); err == nil || !strings.Contains(err.Error(), `"Two" would be hidden`) {
		t.Errorf("got %v", err)
	}
}

// FuzzApply checks that a merge is idempotent. Applying a valid delta to its own result must change nothing or be
// refused.
func FuzzApply(f *testing.F) {
	f.Add(head+block("One", "a"), "## ADDED Requirements\n"+block("Two", "b"))
	f.Add(head+block("One", "a"), "## RENAMED Requirements\nFROM: ### Requirement: One\nTO: ### Requirement: Two\n## MODIFIED Requirements\n"+block("Two", "b"))
	f.Fuzz(func(t *testing.T, target, source string) {
		first, err := apply(&target, source)
		if err != nil {
			return
		}
		second, err := apply(&first.Text, source)
		if err == nil && second.Text != first.Text && second.Counts.Total() == 0 {
			t.Errorf("%q\n%q\nfirst  %q\nsecond %q", target, source, first.Text, second.Text)
		}
	})
}
