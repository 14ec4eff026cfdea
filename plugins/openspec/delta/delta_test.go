package delta_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

func parse(source string) *delta.Delta { return delta.Parse(markdown.Parse(source)) }

func names(blocks []requirement.Block) []string {
	var all []string
	for _, block := range blocks {
		all = append(all, block.Name)
	}
	return all
}

func TestSectionsAreCaseInsensitive(t *testing.T) {
	d := parse("## added requirements\n### Requirement: A\nx\n## Notes\n## ADDED Requirements\n### Requirement: B\n## modified requirements\n### Requirement: C\n")
	if diff := cmp.Diff([]string{"A", "B"}, names(d.Added)); diff != "" {
		t.Errorf("added (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ADDED", "MODIFIED"}, d.Sections); diff != "" {
		t.Errorf("sections (-want +got)\n%s", diff)
	}
}

func TestRemovedInAllForms(t *testing.T) {
	d := parse("## REMOVED Requirements\n### Requirement: A\n**Reason**: x\n- `### Requirement: B`\n* ### Requirement: C\n  + `### Requirement: D`\n1. ### Requirement: no\n```\n### Requirement: no\n```\n")
	if diff := cmp.Diff([]string{"A", "B", "C", "D"}, names(d.Removed)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnpairedRenames(t *testing.T) {
	d := parse("## RENAMED Requirements\n- FROM: `### Requirement: A`\n- FROM: `### Requirement: B`\n- TO: `### Requirement: C`\n* TO: ### Requirement: D\nFROM: ### Requirement: E\n## RENAMED Requirements\nTO: ### Requirement: F\n")
	if diff := cmp.Diff([]delta.Rename{{From: "B", To: "C"}}, d.Renamed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := []delta.Unpaired{{Side: "FROM", Name: "A", Line: 2}, {Side: "TO", Name: "D", Line: 5}, {Side: "FROM", Name: "E", Line: 6}, {Side: "TO", Name: "F", Line: 8}}
	if diff := cmp.Diff(want, d.Unpaired); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMisplacedContent(t *testing.T) {
	d := parse("### Requirement: Above\n## Notes\n### Requirement: Under\n## ADDED Requirements\n### Notes\n### Requirement:\n")
	orphans := []delta.Orphan{{Name: "Above", Line: 1}, {Name: "Under", Section: "Notes", Line: 3}}
	if diff := cmp.Diff(orphans, d.Orphans); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	strays := []delta.Stray{
		{Title: "Notes", Section: "ADDED Requirements", Line: 5},
		{Title: "Requirement:", Section: "ADDED Requirements", Line: 6, Unnamed: true},
	}
	if diff := cmp.Diff(strays, d.Strays); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHeadersInFencesAreIgnored(t *testing.T) {
	if d := parse("```\n## ADDED Requirements\n### Requirement: A\n```\n"); len(d.Sections) != 0 || d.Entries() != 0 {
		t.Errorf("%+v", d)
	}
}

func TestNamesOfLooseForms(t *testing.T) {
	for source, want := range map[string]string{
		"- ### requirement: A\n":       "", // the keyword is case-sensitive in a list item
		"### requirement: A\n":         "A",
		"- `### Requirement: A\n":      "A",
		"- ### Requirement: A` `\n":    "A` ",
		"-### Requirement: A\u2028b\n": "",
		"### Requirement: ###\n":       "###",
	} {
		got := ""
		for _, name := range names(parse("## REMOVED Requirements\n" + source).Removed) {
			got += name
		}
		if got != strings.TrimSpace(want) {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

func TestBareHeaderEndsRequirement(t *testing.T) {
	d := parse("## ADDED Requirements\n### Requirement: A\nx\n## \ny\n### Requirement: B\nz\n")
	if diff := cmp.Diff([]string{"A", "B"}, names(d.Added)); diff != "" || d.Added[0].Raw() != "### Requirement: A\nx" {
		t.Errorf("%q (-want +got)\n%s", d.Added[0].Raw(), diff)
	}
}

func TestMeant(t *testing.T) {
	for source, want := range map[string]bool{
		"```\n## ADDED Requirements\n": true, "##\n\u00a0added\trequirements and more\n": true, "\uFEFF## ADDED Requirements\n": false, " ## ADDED Requirements\n": false, "## ADDED\n": false,
	} {
		if got := parse(source).Meant; got != want {
			t.Errorf("%q: %t", source, got)
		}
	}
}

// FuzzParse checks that every entry of a delta has a line in the text.
func FuzzParse(f *testing.F) {
	f.Add("## ADDED Requirements\n### Requirement: A\n## REMOVED Requirements\n- `### Requirement: B`\n## RENAMED Requirements\n- FROM: `### Requirement: C`\n- TO: `### Requirement: D`\n")
	f.Add("## Purpose\nx\n### Requirement:\n~~~\n## MODIFIED Requirements")
	f.Fuzz(func(t *testing.T, source string) {
		text := markdown.Parse(source)
		d := delta.Parse(text)
		for _, blocks := range [][]requirement.Block{d.Added, d.Modified, d.Removed} {
			for _, block := range blocks {
				if first := block.Text.First; first < 1 || first+len(block.Text.Lines)-1 > len(text.Lines) {
					t.Errorf("%q: %q at line %d", source, block.Name, first)
				}
			}
		}
	})
}
