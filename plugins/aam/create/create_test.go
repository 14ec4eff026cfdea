package create_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/create"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
)

func nothing(manifest.Artifact) bool { return false }

// project creates a directory "My Project" that contains empty files with the given names.
func project(t *testing.T, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "My Project")
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		testenv.WriteFile(t, path, "x")
	}
	return dir
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  []string // the expected artifacts in the form "type name path"
	}{
		{"skills at any depth, named by their directories", []string{"skills/b/SKILL.md", "a/b/c/SKILL.md", "skills/b/refs/x.md"}, []string{"skill c a/b/c", "skill b skills/b"}},
		{"the project itself is a skill", []string{"SKILL.md"}, []string{"skill my-project ."}},
		{"agents at any depth", []string{"agents/x/agent.yaml", "agents/loose.yaml"}, []string{"agent x agents/x"}},
		{"rules of Cursor", []string{".cursor/rules/agent-sec.mdc", ".cursor/rules/go.mdc", ".cursor/rules/x.md", ".cursor/rules/sub/y.mdc"}, []string{"agent sec .cursor/rules/agent-sec.mdc", "instruction go .cursor/rules/go.mdc"}},
		{"prompts directly in their directories", []string{"prompts/a.md", "prompts/b.prompt.md", "prompts/c.txt", "prompts/sub/d.md", "sub/prompts/e.md", ".cursor/prompts/f.md", ".cursor/commands/g.md", ".github/prompts/h.prompt.md"},
			[]string{"prompt g .cursor/commands/g.md", "prompt f .cursor/prompts/f.md", "prompt h .github/prompts/h.prompt.md", "prompt a prompts/a.md", "prompt b prompts/b.prompt.md"}},
		{"instructions", []string{"instructions/i.md", "CLAUDE.md", "AGENTS.md", ".github/copilot-instructions.md", ".github/instructions/no.md", ".claude/agents/no.md"},
			[]string{"instruction copilot-instructions .github/copilot-instructions.md", "instruction codex-instructions AGENTS.md", "instruction claude-instructions CLAUDE.md", "instruction i instructions/i.md"}},
		{"directories that are skipped", []string{"node_modules/x/SKILL.md", "a/dist/y/SKILL.md", ".aam/packages/p/SKILL.md", ".git/SKILL.md"}, nil},
		{"names are made valid and unique", []string{"a/Under_Score/SKILL.md", "b/under-score/SKILL.md", "c/__/SKILL.md", "prompts/Ärger.md", "d/" + strings.Repeat("x", 70) + "/SKILL.md", "e/" + strings.Repeat("x", 70) + "/SKILL.md"},
			[]string{"skill under-score a/Under_Score", "skill under-score-2 b/under-score", "skill skill c/__",
				"skill " + strings.Repeat("x", 64) + " d/" + strings.Repeat("x", 70), "skill " + strings.Repeat("x", 62) + "-2 e/" + strings.Repeat("x", 70), "prompt arger prompts/Ärger.md"}},
		{"a path with a line break is omitted", []string{"prompts/a\nb.md", "prompts/c.md"}, []string{"prompt c prompts/c.md"}},
		{"nothing", []string{"README.md"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, err := create.Detect(files.Disk{}, project(t, test.files...), nothing)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range found {
				got = append(got, string(a.Type)+" "+a.Name+" "+a.Path)
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDetectSkips(t *testing.T) {
	found, err := create.Detect(files.Disk{}, project(t, ".cursor/skills/mine/SKILL.md", ".cursor/skills/installed/SKILL.md"), func(a manifest.Artifact) bool {
		return a.Path == ".cursor/skills/installed"
	})
	if err != nil || len(found) != 1 || found[0].Name != "mine" {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestDetectIsBounded(t *testing.T) {
	deep := project(t, strings.Repeat("d/", 40)+"SKILL.md")
	many := make([]string, 2001)
	for i := range many {
		many[i] = "prompts/" + strings.Repeat("p", i%50) + string(rune('a'+i%26)) + strings.Repeat("q", i/50) + ".md"
	}
	for name, dir := range map[string]string{"deep": deep, "many": project(t, many...)} {
		if _, err := create.Detect(files.Disk{}, dir, nothing); fault.From(err) == nil || fault.From(err).Code != fault.InvalidArgument {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestDetectRealProject checks that Detect finds the same artifacts in the sample project as the aam program.
func TestDetectRealProject(t *testing.T) {
	dir := realdata.Path(t, "constructed", "workspaces", "detectable-project")
	found, err := create.Detect(files.Disk{}, dir, nothing)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := create.Manifest("detected-pack", "1.0.0", "Everything found", found)
	if err != nil {
		t.Fatal(err)
	}
	recorded := string(realdata.Read(t, "constructed", "workspaces", "detectable-project.generated-aam.yaml"))
	want, err := manifest.Parse([]byte(strings.Replace(recorded, "name: Under_Score", "name: under-score", 1)))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(want.Artifacts, func(a, b manifest.Artifact) int {
		if a.Type != b.Type {
			return 0
		}
		return cmp.Compare(a.Path, b.Path)
	})
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestManifest(t *testing.T) {
	artifacts := []manifest.Artifact{{Type: manifest.Prompt, Name: "p", Path: "prompts/p.md", Description: "Prompt at prompts/p.md"}}
	data, m, err := create.Manifest("pack", "0.1.0", "yes", artifacts)
	want := "name: pack\nversion: 0.1.0\ndescription: 'yes'\nartifacts:\n  agents: []\n  skills: []\n  prompts:\n  - name: p\n    path: prompts/p.md\n" +
		"    description: Prompt at prompts/p.md\n  instructions: []\ndependencies: {}\nplatforms:\n  cursor:\n    skill_scope: project\n    deploy_instructions_as: rules\n"
	if diff := gocmp.Diff(want, string(data)); err != nil || diff != "" || m.Name != "pack" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for _, wrong := range [][3]string{{"BAD", "1.0.0", "d"}, {"a", "x", "d"}, {"a", "1.0.0", " "}, {"a", "1.0.0", strings.Repeat("d", 257)}} {
		if _, _, err := create.Manifest(wrong[0], wrong[1], wrong[2], artifacts); fault.From(err) == nil || fault.From(err).Code != fault.InvalidArgument {
			t.Errorf("%q: got %v", wrong, err)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("My_Pkg 2")
	f.Add(strings.Repeat("-a", 80))
	f.Fuzz(func(t *testing.T, text string) {
		if name := create.Name(text, "package"); pkgname.CheckArtifact(name) != nil {
			t.Errorf("Name(%q) returned the invalid name %q", text, name)
		}
	})
}

func TestNameOfNonASCIIText(t *testing.T) {
	for text, want := range map[string]string{
		"größe": "grosse", "Über uns": "uber-uns", "ÉCOLE": "ecole", "e\u0301te\u0301": "ete", "İstanbul": "istanbul", "Łódź": "lodz", "Ærø": "aero", "naïve_name": "naive-name",
		"ÿ": "y", "ſ": "s", "ĳ": "ij", "×": "otherwise", "日本語": "u65e5-u672c-u8a9e", "日本語 guide": "guide", "١٢٣": "u0661-u0662-u0663", "🚀": "otherwise", "": "otherwise", "--": "otherwise",
		strings.Repeat("語", 30): strings.TrimRight(strings.Repeat("u8a9e-", 10)+"u8a9", "-"),
	} {
		got := create.Name(text, "otherwise")
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if err := pkgname.CheckArtifact(got); err != nil {
			t.Error(err)
		}
	}
}
