package spec_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

const purpose = "## Purpose\nWhat it is for.\n\n"

func TestParseCountsEveryHeaderBelowRequirements(t *testing.T) {
	parsed, err := spec.Parse("a", markdown.Parse("# t\n"+purpose+"## requirements\n### Requirement: One\nIt SHALL.\n#### Scenario: s\n- x\n#### Scenario: bare\n\n### Notes\n"))
	want := []spec.Requirement{{Text: "It SHALL.", Scenarios: []spec.Scenario{{RawText: "- x"}}}, {Text: "Notes", Scenarios: []spec.Scenario{}}}
	if diff := cmp.Diff(want, parsed.Requirements); err != nil || diff != "" || parsed.Overview != "What it is for." {
		t.Errorf("%v, %q (-want +got)\n%s", err, parsed.Overview, diff)
	}
	for source, want := range map[string]string{
		"## Requirements\n":               "Spec must have a Purpose section",
		"## Purpose\n\n## Requirements\n": "Spec must have a Purpose section",
		purpose:                           "Spec must have a Requirements section",
	} {
		if _, err := spec.Parse("a", markdown.Parse(source)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", source, err)
		}
	}
}

func TestStructure(t *testing.T) {
	source := purpose + "## Requirements\n### Requirement: A\n### Requirement: a\n### Requirement: A ##\n```\n### Requirement: A\n```\n## added requirements\n### Requirement: B\n"
	var lines []int
	for _, problem := range spec.Structure(markdown.Parse(source)) {
		lines = append(lines, problem.Line)
	}
	if diff := cmp.Diff([]int{7, 11, 12}, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPlaceholders(t *testing.T) {
	for text, want := range map[string]bool{
		"TBD": true, "TODO: later": true, "TODO later": true, "todo el inventario": false, "todo: x": true, "tbd": true, "TBDs": false,
		"It is TBD": false, spec.PlaceholderPurpose("x"): true, "Text.\n\n" + spec.PlaceholderPurpose("x"): true, "```\nTBD\n```\nText": false,
	} {
		if _, found := spec.Placeholder(text, markdown.Parse("## Purpose\n"+text+"\n")); found != want {
			t.Errorf("%q: %t", text, found)
		}
	}
	if line, _ := spec.Placeholder("TBD", markdown.Parse("# t\n\n## Purpose\n\nTBD\n")); line != 5 {
		t.Errorf("the placeholder is in line %d", line)
	}
}

func TestComposeKeepsOtherSections(t *testing.T) {
	parts := spec.Divide(markdown.Parse("# t\n\n" + purpose + "##  Requirements\nPre\n\n\n\nText\n### Requirement: A\nx\n## More\n```\n\n\n\n```\nend\n\n\n"))
	want := "# t\n\n## Purpose\nWhat it is for.\n\n##  Requirements\n\nPre\n\nText\n\nNEW\n\n## More\n```\n\n\n\n```\nend\n"
	if diff := cmp.Diff(want, parts.Compose([]string{"NEW"})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := spec.Divide(markdown.Parse("# t\n")).Compose([]string{"### Requirement: A\nx"}); got != "# t\n\n## Requirements\n\n### Requirement: A\nx\n" {
		t.Errorf("Compose without a Requirements section returned %q", got)
	}
}

func TestUnaccounted(t *testing.T) {
	good := "# t\n\n" + purpose + "### Sub\nx\n\n## Requirements\n### Requirement: A\nIt SHALL.\n\nMore.\n#### Scenario: s\n- **WHEN** x\n  goes on\nand on\n1. y\n```\ncode\n```\n"
	if left := spec.Unaccounted(markdown.Parse(good)); left != nil {
		t.Errorf("Unaccounted returned %q", left)
	}
	for added, want := range map[string]string{
		"\nA paragraph.\n": "A paragraph.", "<!-- c -->\n": "<!-- c -->", "### Notes\n": "### Notes", "##### deep\n- x\n": "##### deep", "## More\n": "## More",
	} {
		if left := spec.Unaccounted(markdown.Parse(good + added)); len(left) != 1 || left[0] != want {
			t.Errorf("with the added text %q, Unaccounted returned %q", added, left)
		}
	}
}

// compose divides a main spec with Divide, and composes the parts again.
func compose(source string) string {
	parts := spec.Divide(markdown.Parse(source))
	blocks := make([]string, len(parts.Blocks))
	for i, block := range parts.Blocks {
		blocks[i] = block.Raw()
	}
	return parts.Compose(blocks)
}

// TestComposeOfDividedSpecIsIdentity checks main specs that the openspec CLI has written: the specs in testdata, and those of a real
// project.
func TestComposeOfDividedSpecIsIdentity(t *testing.T) {
	t.Run("testdata", func(t *testing.T) { composeIsIdentity(t, filepath.Join("..", "testdata", "branch", "after")) })
	t.Run("recorded", func(t *testing.T) { composeIsIdentity(t, testenv.Fixture(t, "openspec")) })
}

// composeIsIdentity checks the main specs below root.
func composeIsIdentity(t *testing.T, root string) {
	t.Helper()
	var specs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		written := strings.Contains(path, "/after/") && strings.Contains(path, "/specs/") && !strings.Contains(path, "/changes/")
		if err == nil && entry.Name() == "spec.md" && written {
			specs = append(specs, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(specs) < 2 {
		t.Fatalf("only the specs %q were found", specs)
	}
	for _, path := range specs {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(markdown.Normalize(string(source)), compose(string(source))); diff != "" {
			t.Errorf("%s (-file +composed)\n%s", path, diff)
		}
	}
}

// FuzzCompose checks that composing is idempotent and loses no requirement, unless an unclosed fence precedes the
// Requirements section.
func FuzzCompose(f *testing.F) {
	f.Add("# t\n\n## Purpose\np\n\n## Requirements\n\n\n### Requirement: A\nx\n```\n\n\n\n## After\n")
	f.Add("```")
	f.Add("## Requirements\n### Requirement: ")
	f.Add("## Requirements\npre\n### Requirement: A\n## requirements\n### Requirement: B")
	f.Fuzz(func(t *testing.T, source string) {
		once := compose(source)
		if !spec.Divide(markdown.Parse(once)).Found {
			return
		}
		if twice := compose(once); twice != once {
			t.Errorf("%q\nonce  %q\ntwice %q", source, once, twice)
		}
		text := markdown.Parse(source)
		nameless := slices.ContainsFunc(spec.Divide(text).Blocks, func(b requirement.Block) bool { return b.Name == "" })
		if nameless {
			return // such a line is not a header without its final white space; merges refuse a text that would hide requirements
		}
		if before, after := spec.Divide(text).Blocks, spec.Divide(markdown.Parse(once)).Blocks; len(before) != len(after) {
			t.Errorf("%q: %d requirements became %d", source, len(before), len(after))
		}
		_, _ = spec.Parse("a", text)
		spec.Structure(text)
		spec.Placeholder(source, text)
		spec.Unaccounted(text)
	})
}
