package requirement_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

func TestParseHeader(t *testing.T) {
	for line, want := range map[string]string{
		"### Requirement: One": "One", "###requirement:One": "One", "### REQUIREMENT:  a  b ": "a  b",
		"### Requirement: One ###": "One", "### Requirement: C#": "C#", "### Requirement: ##": "##", "### Requirement: ": "", "### Requirement: a\u2028": "a",
	} {
		if name, ok := requirement.ParseHeader(line); !ok || name != want {
			t.Errorf("%q: got %q, %t", line, name, ok)
		}
	}
	for _, line := range []string{" ### Requirement: x", "## Requirement: x", "#### Requirement: x", "### Requirements: x", "### Notes", "### Requirement:", "### Requirement: a\u2028b"} {
		if _, ok := requirement.ParseHeader(line); ok {
			t.Errorf("%q is parsed as a requirement", line)
		}
	}
}

func TestStatement(t *testing.T) {
	for body, want := range map[string]string{
		"a\n\nb\n#### S\nc":          "a\nb",
		"**ID**: x\nThe text":        "The text",
		"**ID**: x\n**Prio**: y":     "**ID**: x\n**Prio**: y",
		"```\ncode\n```\nThe text":   "The text",
		"**bold** text":              "**bold** text",
		"\n#### S\nc":                "",
		"  indented  \n\u00a0\nlast": "indented\nlast",
	} {
		if got := requirement.Statement(markdown.Parse(body)); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}

func TestKeywords(t *testing.T) {
	for text, want := range map[string]bool{
		"It SHALL do": true, "MUST": true, "must": false, "SHALLOW": false, "xMUST": false, "(MUST)": true, "_SHALL_": false, "SHALLOW SHALL": true, "éMUST": true,
	} {
		if got := requirement.HasKeyword(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestScenarios(t *testing.T) {
	_, blocks := requirement.Blocks(markdown.Parse("### Requirement: A\nx\n#### Scenario: One ##\n- a\n#### two\n\n#### scenario: Three\n##### deep\n```\n#### no\n```\n"))
	want := []requirement.Scenario{{Name: "One", Filled: true}, {Name: "two"}, {Name: "Three", Filled: true}}
	if diff := cmp.Diff(want, blocks[0].Scenarios()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMissingCountsDuplicates(t *testing.T) {
	all := func(names ...string) (list []requirement.Scenario) {
		for _, name := range names {
			list = append(list, requirement.Scenario{Name: name})
		}
		return list
	}
	if diff := cmp.Diff([]string{"a", "c"}, requirement.Missing(all("a", "b", "a", "c"), all("b", "a"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBareHeaderEndsStatementAndScenario(t *testing.T) {
	_, blocks := requirement.Blocks(markdown.Parse("### Requirement: A\nx\n### \ny\n#### \n- a\n#### \n"))
	want := []requirement.Scenario{{Filled: true}}
	if diff := cmp.Diff(want, blocks[0].Scenarios()); diff != "" || blocks[0].Statement() != "x" {
		t.Errorf("%q (-want +got)\n%s", blocks[0].Statement(), diff)
	}
}

// FuzzBlocks checks that the preamble and the blocks are parts of the text, in the order of the text.
func FuzzBlocks(f *testing.F) {
	f.Add("pre\n### Requirement: A\nx\n### Requirement: B\n")
	f.Add("```\n### Requirement: A\n")
	f.Add("### Requirement: A\nx  \n## \ny\n###requirement: ")
	f.Fuzz(func(t *testing.T, source string) {
		text := markdown.Parse(source)
		preamble, blocks := requirement.Blocks(text)
		rest := text.String()
		for _, part := range append([]requirement.Block{{Text: preamble}}, blocks...) {
			at := strings.Index(rest, part.Text.String())
			if at < 0 {
				t.Fatalf("%q is not in %q", part.Text, rest)
			}
			rest = rest[at+len(part.Text.String()):]
		}
		for _, block := range blocks {
			_, _ = block.Scenarios(), block.Statement()
		}
	})
}
