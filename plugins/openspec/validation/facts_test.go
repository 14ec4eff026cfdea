package validation_test

import (
	"reflect"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

const (
	old     = "### Requirement: Old\nIt SHALL.\n\n#### Scenario: s\n- x\n"
	added   = "## ADDED Requirements\n"
	changed = "## MODIFIED Requirements\n"
	removed = "## REMOVED Requirements\n"
	renamed = "## RENAMED Requirements\n"
	toNew   = "- FROM: `### Requirement: Old`\n- TO: `### Requirement: New`\n"
	block   = "\nIt SHALL.\n\n#### Scenario: s\n- x\n"
)

// fitting contains deltas, each with a main spec that has the requirement Old, and says whether the delta fits the main
// spec.
var fitting = map[string]struct {
	delta, main string
	fits        bool
}{
	"addition":                      {added + "### Requirement: A" + block, head + old, true},
	"addition that was merged":      {added + old, head + old, true},
	"addition that differs":         {added + "### Requirement: Old" + block + "- y\n", head + old, false},
	"addition of a similar name":    {added + "### Requirement: OLD" + block, head + old, false},
	"addition with two runs of #":   {added + "### Requirement: Old ## ##" + block, head + old, false},
	"addition to two runs of #":     {added + "### Requirement: Old" + block + "- y\n", head + "### Requirement: Old ## ##" + block, false},
	"two similar additions":         {added + "### Requirement: A" + block + "### Requirement: a" + block, head + old, false},
	"addition after removal":        {removed + old + added + "### Requirement: old" + block, head + old, true},
	"modification":                  {changed + "### Requirement: Old" + block + "#### Scenario: t\n- y\n", head + old, true},
	"lost scenario":                 {changed + "### Requirement: Old\nIt SHALL.\n#### Scenario: t\n- x\n", head + old, false},
	"modification of nothing":       {changed + "### Requirement: No" + block, head + old, false},
	"removal":                       {removed + "### Requirement: Old\n", head + old, true},
	"removal of nothing":            {removed + "- `### Requirement: No`\n", head + old, true},
	"removal of a similar name":     {removed + "### Requirement: OLD\n", head + old, false},
	"rename":                        {renamed + toNew, head + old, true},
	"rename and modification":       {renamed + toNew + changed + "### Requirement: New" + block, head + old, true},
	"rename and lost scenario":      {renamed + toNew + changed + "### Requirement: New\nIt SHALL.\n#### Scenario: t\n- x\n", head + old, false},
	"rename that was merged":        {renamed + toNew, head + "### Requirement: New" + block, false},
	"rename to a similar name":      {renamed + "- FROM: `### Requirement: Old`\n- TO: `### Requirement: old`\n", head + old, false},
	"rename in a chain":             {renamed + toNew + "- FROM: `### Requirement: New`\n- TO: `### Requirement: Newer`\n" + changed + "### Requirement: Newer" + block, head + old, true},
	"rename to a header that ends":  {renamed + "- FROM: `### Requirement: Old`\n- TO: `### Requirement: New # #`\n", head + old, false},
	"own error":                     {added + "### Requirement: A\nIt SHALL.\n", head + old, true},
	"warnings":                      {added + "### Requirement: A\nIt does.\n#### Scenario: s\n- x\n### Note\n", head + old, true},
	"no entries":                    {added, head + old, true},
	"open fence in the delta":       {added + "### Requirement: A" + block + "```\n", head + old, false},
	"open fence in the main spec":   {added + "### Requirement: A" + block, head + old + "```\n", false},
	"main spec with errors":         {added + "### Requirement: A" + block, head + old + "## Other\n### Requirement: B\n", false},
	"main spec with similar names":  {added + "### Requirement: A" + block, head + old + "### Requirement: OLD" + block, false},
	"requirement without a name":    {added + "### Requirement: \n", head + old, false},
	"main spec without the section": {added + "### Requirement: A" + block, "## Purpose\nx\n", true},
}

func facts(delta, main string) (validation.DeltaFacts, validation.SpecFacts) {
	return *inputFor(delta, main).Deltas[0].Facts, validation.SpecFactsOf(spec.NewMain(main))
}

func TestFactsFit(t *testing.T) {
	for name, test := range fitting {
		delta, main := facts(test.delta, test.main)
		if got := delta.Fit(&main); got != test.fits {
			t.Errorf("%s: got %v", name, got)
		}
	}
	for source, want := range map[string]bool{
		added + "### Requirement: A" + block:                                       true,
		"## Purpose\nWhat it is for.\n" + added + "### Requirement: A" + block:     true,
		changed + "### Requirement: A" + block:                                     false,
		added + "### Requirement: A" + block + "```\n### Requirement: B\n" + block: true,
	} {
		if delta, _ := facts(source, ""); delta.Fit(nil) != want {
			t.Errorf("%q without a main spec: got %v", source, !want)
		}
	}
}

// FuzzFactsSuffice checks that validation finds the same issues from facts that fit as from the text of the delta.
func FuzzFactsSuffice(f *testing.F) {
	for _, test := range fitting {
		f.Add(test.delta, test.main)
	}
	f.Fuzz(func(t *testing.T, delta, main string) {
		check := func(in validation.Input, known *validation.SpecFacts) {
			if !in.Deltas[0].Facts.Fit(known) {
				return
			}
			want := validation.Change(in)
			in.Deltas[0].Delta, in.Deltas[0].Target = nil, nil
			if got := validation.Change(in); !reflect.DeepEqual(got, want) {
				t.Errorf("%q on %q: got %+v, want %+v", delta, main, got, want)
			}
		}
		_, known := facts("", main)
		check(inputFor(delta, main), &known)
		absent := inputFor(delta, main)
		absent.Deltas[0].Target = nil
		check(absent, nil)
	})
}

var (
	deltaFacts validation.DeltaFacts // the result of derivedDelta
	specFacts  validation.SpecFacts  // the result of derivedSpec

	derivedDelta = derive.New(func([]byte) validation.DeltaFacts { return deltaFacts })
	derivedSpec  = derive.New(func([]byte) validation.SpecFacts { return specFacts })
)

func TestFactsAreEncoded(t *testing.T) {
	for name, test := range fitting {
		deltaFacts, specFacts = facts(test.delta, test.main)
		if got := derivedDelta.Compute(nil); !reflect.DeepEqual(got, deltaFacts) {
			t.Errorf("%s: got %+v, want %+v", name, got, deltaFacts)
		}
		if got := derivedSpec.Compute(nil); !reflect.DeepEqual(got, specFacts) {
			t.Errorf("%s: got %+v, want %+v", name, got, specFacts)
		}
	}
}
