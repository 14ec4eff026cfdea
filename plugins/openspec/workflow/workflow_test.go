package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
)

// schema returns the source of a schema with the given artifacts. Each artifact has the form "id", or
// "id<required,required" with the ids of the artifacts that it requires.
func schema(rest string, artifacts ...string) string {
	var out strings.Builder
	out.WriteString("name: n\nversion: 1\nartifacts:\n")
	for _, one := range artifacts {
		id, requires, _ := strings.Cut(one, "<")
		fmt.Fprintf(&out, "  - {id: %[1]s, generates: %[1]s.md, description: d, template: t.md, requires: [%[2]s]}\n", id, requires)
	}
	return out.String() + rest
}

func parse(t *testing.T, source string) *workflow.Schema {
	t.Helper()
	parsed, err := workflow.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestBuildOrderFollowsFile(t *testing.T) {
	parsed := parse(t, schema("", "d<b,c", "c<a", "b<a", "a", "e"))
	var order []string
	for _, artifact := range parsed.BuildOrder() {
		order = append(order, artifact.ID)
	}
	if diff := cmp.Diff([]string{"a", "c", "b", "d", "e"}, order); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	complete := map[string]bool{"a": true}
	if diff := cmp.Diff([]string{"c", "b", "d"}, parsed.Missing([]string{"d"}, complete)); diff != "" {
		t.Errorf("missing (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c", "b"}, parsed.Unmet(parsed.Artifact("d"), complete)); diff != "" {
		t.Errorf("unmet (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c", "b"}, parsed.Unlocks("a")); diff != "" {
		t.Errorf("unlocked (-want +got)\n%s", diff)
	}
}

func TestTrackedFile(t *testing.T) {
	for rest, want := range map[string]string{
		"":                             "tasks.md",
		"apply: {requires: [tasks]}\n": "tasks.md",
		"apply: {requires: [tasks], tracks: todo.md}\n": "todo.md",
		"apply: {requires: [tasks], tracks: no.md}\n":   "",
		"apply: {requires: [tasks], tracks: null}\n":    "tasks.md",
	} {
		if got := parse(t, schema(rest, "todo", "tasks")).Tracked(); got != want {
			t.Errorf("%q: %q, want %q", rest, got, want)
		}
	}
}

func TestParseRefusesInvalidSchema(t *testing.T) {
	for source, want := range map[string]string{
		"[":          "not valid YAML",
		"- a\n":      "Invalid schema: : Invalid input: expected object, received array",
		"version: 1": "name: Invalid input: expected string, received undefined, artifacts: Invalid input: expected array, received undefined",
		"name: ''\nversion: 0.5\nartifacts: []\n":                            "name: Schema name is required, version: Invalid input: expected int, received number, artifacts: At least one artifact required",
		schema("version: 2\n", "a"):                                          "not valid YAML",
		schema("", "a", "a"):                                                 "Duplicate artifact ID: a",
		schema("", "a<b"):                                                    "Invalid dependency reference in artifact 'a': 'b' does not exist",
		schema("", "a<c", "b<a", "c<b"):                                      "Cyclic dependency detected: a → c → b → a",
		schema("", "a<a"):                                                    "Cyclic dependency detected: a → a",
		schema("apply: {requires: [x]}\n", "a"):                              "Invalid apply.requires reference: 'x' does not exist (artifacts: a)",
		schema("apply: {requires: []}\n", "a"):                               "apply.requires: At least one required artifact",
		schema("apply: {requires: [a], tracks: 1}", "a"):                     "apply.tracks: Invalid input: expected string, received number",
		strings.Replace(schema("", "a"), "a.md", "../a.md", 1):               "artifacts.0.generates: generates field must be a relative path inside its allowed directory",
		strings.Replace(schema("", "a"), "a.md", `C:x`, 1):                   "generates field must be a relative path",
		strings.Replace(schema("", "a"), "t.md", `'\\t.md'`, 1):              "template field must be a relative path",
		schema("", strings.Split(strings.Repeat("x ", 1001), " ")[:1001]...): "A schema may declare at most 1000 artifacts",
	} {
		if _, err := workflow.Parse(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", source, err, want)
		}
	}
}

func TestBuiltInSchemaHasTemplates(t *testing.T) {
	for _, artifact := range workflow.BuiltIn().Artifacts {
		if content, found := workflow.BuiltInTemplate(artifact.Template); !found || content == "" || artifact.Instruction == nil {
			t.Errorf("%s has no template or instruction", artifact.ID)
		}
	}
	if got := workflow.BuiltIn().Tracked(); got != "tasks.md" {
		t.Errorf("the built-in schema tracks %q", got)
	}
}

func TestIsPattern(t *testing.T) {
	for generates, want := range map[string]bool{
		"tasks.md": false, "*.md": true, "a?.md": true, "[ab].md": true, "{a,b}.md": true, "{1..3}.md": true, "a {1}.md": false,
		"(a).md": false, "@(a|b).md": true, "!(a).md": true, "!a.md": false, `a\*.md`: true,
	} {
		if got := workflow.IsPattern(generates); got != want {
			t.Errorf("%q: %t", generates, got)
		}
	}
}

// match reports whether pattern matches path, which has slashes.
func match(pattern, path string) bool {
	walk := workflow.ParsePattern(pattern).Start()
	parts := strings.Split(path, "/")
	for _, part := range parts[:len(parts)-1] {
		walk = walk.Enter(part)
	}
	return walk.Match(parts[len(parts)-1])
}

func TestPatterns(t *testing.T) {
	for _, test := range []struct{ pattern, yes, no string }{
		{"*.md", "a.md", ".a.md a/b.md a.txt"},
		{"**/*.md", "a.md a/b.md a/b/c.md", ".a/b.md a/.b.md"},
		{"specs/**/*.md", "specs/a.md specs/a/b/c.md", "a.md specs.md"},
		{"**", "a a/b", ".a a/.b"},
		{"a/**", "a/b a/b/c", "a b/a"},
		{".hidden/*.md", ".hidden/a.md", "hidden/a.md"},
		{"./todo//*.md", "todo/a.md", "a.md"},
		{"{a,b}/tasks.md", "a/tasks.md b/tasks.md", "c/tasks.md"},
		{"t{a,o{x,y}}s", "tas toxs toys", "tos"},
		{"{1..3}{,.md}", "1 2.md 3", "4 1.txt"},
		{"{c..a}", "a b c", "d"},
		{"t[ao]sk", "task tosk", "tusk"},
		{"[!t]*.md", "a.md", "t.md .a.md"},
		{"[a-c]", "b", "d"},
		{"a?", "ab aé", "a abc"},
		{"@(a|b).md", "a.md b.md", "c.md ab.md"},
		{"?(a)b", "b ab", "aab"},
		{"*(a)b", "b aab", "cb"},
		{"+(a|b)", "a abba", "c"},
		{"!(a).md", "b.md ab.md", "a.md"},
		{"x!(a|b)y", "xy xcy", "xay xby"},
		{`docs\*.md`, "docs/a.md", "a.md"},
		{"*.md/", "", "a.md"},
		{"!*.md", "", "a.md a.txt"},
		{"[", "", "a"},
	} {
		for _, path := range strings.Fields(test.yes) {
			if !match(test.pattern, path) {
				t.Errorf("%s does not match %s", test.pattern, path)
			}
		}
		for _, path := range strings.Fields(test.no) {
			if match(test.pattern, path) {
				t.Errorf("%s matches %s", test.pattern, path)
			}
		}
	}
	if match(strings.Repeat("{a,b}", 20), strings.Repeat("a", 20)) {
		t.Error("a million alternatives were expanded")
	}
}

// TestPatternsOfHighCost matches patterns that would take exponential or high polynomial time or memory without the
// bounds of patterns.
func TestPatternsOfHighCost(t *testing.T) {
	deep := strings.Repeat("**/*/", 200) + "x.md"
	if match(deep, strings.Repeat("d/", 32)+"x.md") || !match(strings.Repeat("**/*/", 9)+"x.md", strings.Repeat("d/", 32)+"x.md") {
		t.Error("a pattern with many directories does not match as expected")
	}
	for _, pattern := range []string{
		"{" + strings.Repeat("a,", 900) + "}" + strings.Repeat("{", 2000),
		"{1..1000}" + strings.Repeat("a/", 1900),
		strings.Repeat("{", 2000) + strings.Repeat("}", 2000),
	} {
		if workflow.IsPattern(pattern) && match(pattern, "a") {
			t.Errorf("%.30q matches", pattern)
		}
	}
	costly := workflow.ParsePattern(strings.Repeat("!(*!(*))", 400))
	for n := 0; !costly.TooCostly(); n++ {
		if costly.Start().Match(strings.Repeat("a", 255)); n == 100 {
			t.Fatal("matching the pattern does not end")
		}
	}
	if costly.Start().Match("a") {
		t.Error("a pattern that is too costly still matches")
	}
}

// FuzzPattern checks that matching is fast for every pattern, and that a pattern without special characters matches
// itself.
func FuzzPattern(f *testing.F) {
	f.Add("!(!(a)|b*)c[x", "abc")
	f.Add("{a,{b,c}}/{1..9}", "a/1")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(name) > 255 || len(pattern) > 200 {
			return
		}
		match(pattern, name)
		plain := !strings.ContainsAny(name, "/\\{}[]()*?!+@") && name != "" && name != "."
		if plain && !strings.HasPrefix(name, ".") && !match(name, name) {
			t.Errorf("%q does not match itself", name)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(schema("apply: {requires: [a], tracks: a.md}\n", "a", "b<a"))
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, source string) {
		parsed, err := workflow.Parse(source)
		if err == nil && len(parsed.BuildOrder()) != len(parsed.Artifacts) {
			t.Errorf("%q: not all artifacts are in the build order", source)
		}
	})
}
