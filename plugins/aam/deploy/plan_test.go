package deploy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// world is a directory that contains a home directory, a project and a package.
type world struct{ root, home, project, pack string }

func newWorld(t *testing.T, contents map[string]string) world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{root, filepath.Join(root, "home"), filepath.Join(root, "project"), filepath.Join(root, "pack")}
	for _, dir := range []string{w.home, w.project, w.pack} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range contents {
		path := filepath.Join(root, name)
		testenv.WriteFile(t, path, text)
	}
	return w
}

func (w world) plan() *deploy.Plan {
	return &deploy.Plan{Files: files.Disk{}, Project: w.project, Home: w.home}
}

func (w world) journal() journal.Journal {
	codex := filepath.Join(w.home, ".codex")
	return journal.Journal{Files: files.Disk{}, Roots: []journal.Root{
		{Dir: w.project, Stage: filepath.Join(w.project, ".aam", ".tmp"), Only: deploy.InProject},
		{Dir: codex, Stage: filepath.Join(codex, ".stage"), Only: deploy.InHome},
	}}
}

// make stages and commits the changes of a plan.
func (w world) make(t *testing.T, p *deploy.Plan) {
	t.Helper()
	c, err := w.journal().Begin()
	if err == nil {
		err = p.Stage(c)
	}
	if err == nil {
		err = c.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the content of all files in the home directory and the project. The keys are relative paths.
func (w world) read(t *testing.T) map[string]string {
	t.Helper()
	return testenv.ReadFiles(t, w.root, w.home, w.project)
}

var packed = map[string]string{
	"pack/skills/look/SKILL.md":       "# Look\n",
	"pack/skills/look/refs/list.md":   "list",
	"pack/agents/judge/agent.yaml":    "name: Judge\ndescription: 'Judges \"code\"'\nsystem_prompt: prompt.md\nskills: [look]\nparameters: {strict: yes}\n",
	"pack/agents/judge/prompt.md":     "You judge.\n\n\n",
	"pack/prompts/ask.md":             "Ask",
	"pack/instructions/style/main.md": "---\nglobs: x\n---\nBe brief.\n\n",
}

var artifacts = []manifest.Artifact{
	{Type: manifest.Agent, Name: "judge", Path: "agents/judge/", Description: "A judge"},
	{Type: manifest.Skill, Name: "look", Path: "skills/look/", Description: "Looks"},
	{Type: manifest.Prompt, Name: "ask", Path: "prompts/ask.md", Description: "Asks"},
	{Type: manifest.Instruction, Name: "style", Path: "instructions/style/main.md", Description: "House \\ \"style\"\nšis"},
}

const (
	judge = "<!-- BEGIN AAM: judge agent -->\nYou judge.\n<!-- END AAM: judge agent -->\n"
	style = "<!-- BEGIN AAM: style instruction -->\n---\nglobs: x\n---\nBe brief.\n<!-- END AAM: style instruction -->\n"
)

func TestPlatforms(t *testing.T) {
	tests := []struct {
		platform string
		want     map[string]string
	}{
		{deploy.Cursor, map[string]string{
			"project/.cursor/rules/agent-judge.mdc":       "---\ndescription: \"Judges \\\"code\\\"\"\nalwaysApply: true\n---\n\n# Agent: Judge\n\nYou judge.\n\n## Available Skills\n\n- look\n",
			"project/.cursor/rules/style.mdc":             "---\ndescription: \"House \\\\ \\\"style\\\"\\nšis\"\nalwaysApply: true\n---\n\n---\nglobs: x\n---\nBe brief.\n",
			"project/.cursor/skills/look/SKILL.md":        "# Look\n",
			"project/.cursor/skills/look/refs/list.md":    "list",
			"project/.cursor/prompts/ask.md":              "Ask",
			"project/CLAUDE.md":                           "Ours\n",
			"project/AGENTS.md":                           "Ours, too\n",
			"project/.cursor/rules/ours.mdc":              "ours",
			"project/.claude/skills/look/old-and-gone.md": "old",
		}},
		{deploy.Claude, map[string]string{
			"project/.claude/agents/judge.md":          "You judge.\n\n\n",
			"project/.claude/skills/look/SKILL.md":     "# Look\n",
			"project/.claude/skills/look/refs/list.md": "list",
			"project/.claude/prompts/ask.md":           "Ask",
			"project/CLAUDE.md":                        "Ours\n\n" + style,
			"project/AGENTS.md":                        "Ours, too\n",
			"project/.cursor/rules/ours.mdc":           "ours",
		}},
		{deploy.Copilot, map[string]string{
			"project/.github/agents/judge.agent.md":              "You judge.\n\n\n",
			"project/.github/skills/look/SKILL.md":               "# Look\n",
			"project/.github/skills/look/refs/list.md":           "list",
			"project/.github/prompts/ask.md":                     "Ask",
			"project/.github/instructions/style.instructions.md": "---\nglobs: x\n---\nBe brief.\n\n",
			"project/CLAUDE.md":                                  "Ours\n",
			"project/AGENTS.md":                                  "Ours, too\n",
			"project/.cursor/rules/ours.mdc":                     "ours",
			"project/.claude/skills/look/old-and-gone.md":        "old",
		}},
		{deploy.Codex, map[string]string{
			"home/.codex/skills/look/SKILL.md":            "# Look\n",
			"home/.codex/skills/look/refs/list.md":        "list",
			"home/.codex/prompts/ask.md":                  "Ask",
			"project/CLAUDE.md":                           "Ours\n",
			"project/AGENTS.md":                           "Ours, too\n\n" + judge + "\n" + style,
			"project/.cursor/rules/ours.mdc":              "ours",
			"project/.claude/skills/look/old-and-gone.md": "old",
		}},
	}
	ours := map[string]string{
		"project/CLAUDE.md": "Ours\n", "project/AGENTS.md": "Ours, too\n", "project/.cursor/rules/ours.mdc": "ours",
		"project/.claude/skills/look/old-and-gone.md": "old",
	}
	for _, test := range tests {
		t.Run(test.platform, func(t *testing.T) {
			w := newWorld(t, packed)
			for name, text := range ours {
				path := filepath.Join(w.root, name)
				testenv.WriteFile(t, path, text)
			}
			for range 2 { // the second deployment must change nothing
				p := w.plan()
				for _, a := range artifacts {
					if err := p.Deploy(test.platform, w.pack, a); err != nil {
						t.Fatal(err)
					}
				}
				w.make(t, p)
				if diff := cmp.Diff(test.want, w.read(t)); diff != "" {
					t.Fatalf("(-want +got)\n%s", diff)
				}
			}
			p := w.plan()
			for _, a := range artifacts {
				if err := p.Undeploy(test.platform, a.Type, a.Name); err != nil {
					t.Fatal(err)
				}
			}
			w.make(t, p)
			want := map[string]string{}
			for name, text := range ours {
				if test.platform != deploy.Claude || !strings.Contains(name, ".claude") {
					want[name] = text
				}
			}
			if diff := cmp.Diff(want, w.read(t)); diff != "" {
				t.Errorf("taken away (-want +got)\n%s", diff)
			}
			if files := map[string]int{deploy.Cursor: 5, deploy.Claude: 4, deploy.Copilot: 5, deploy.Codex: 3}; p.Removed() != files[test.platform] {
				t.Errorf("%d files were removed, want %d", p.Removed(), files[test.platform])
			}
		})
	}
}

func TestRulesHaveValidFrontMatter(t *testing.T) {
	for _, description := range []string{`He said "stop": now`, `back\slash`, "line\nbreak\ttab\r\x00\x7f", "šis 🚀 \u2028", "'", ""} {
		w := newWorld(t, map[string]string{"pack/i.md": "body"})
		p := w.plan()
		if err := p.Deploy(deploy.Cursor, w.pack, manifest.Artifact{Type: manifest.Instruction, Name: "i", Path: "i.md", Description: description}); err != nil {
			t.Fatal(err)
		}
		w.make(t, p)
		rule := w.read(t)["project/.cursor/rules/i.mdc"]
		head, _, _ := strings.Cut(strings.TrimPrefix(rule, "---\n"), "---\n")
		doc, err := yaml11.Parse([]byte(head), 1000)
		if err != nil {
			t.Errorf("%q: %v in %s", description, err, head)
			continue
		}
		if got := doc.Root().Field("description").Text(); got != description {
			t.Errorf("got %q, want %q", got, description)
		}
	}
}

func TestAgents(t *testing.T) {
	agent := manifest.Artifact{Type: manifest.Agent, Name: "a", Path: "a", Description: "D"}
	tests := []struct {
		name     string
		files    map[string]string
		platform string
		want     string // the expected text; after "!", a substring of the expected error
	}{
		{"system-prompt.md has precedence", map[string]string{"pack/a/system-prompt.md": "one", "pack/a/agent.yaml": "{"}, deploy.Claude, "one"},
		{"without any file, the name", map[string]string{"pack/a/x": ""}, deploy.Claude, "# a\n\nD\n"},
		{"a file in place of the agent's directory", map[string]string{"pack/a": "x"}, deploy.Claude, "# a\n\nD\n"},
		{"an absent prompt", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d\nsystem_prompt: gone.md"}, deploy.Claude, "# a\n\nD\n"},
		{"a prompt elsewhere in the package", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d\nsystem_prompt: ../p.md", "pack/p.md": "p"}, deploy.Claude, "p"},
		{"a prompt outside", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d\nsystem_prompt: ../../secret", "secret": "s3"}, deploy.Claude, "!AAM_ARCHIVE_INVALID"},
		{"a prompt with an absolute path", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d\nsystem_prompt: /etc/hostname"}, deploy.Claude, "!AAM_ARCHIVE_INVALID"},
		{"an invalid agent.yaml", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d", "pack/a/system-prompt.md": "x"}, deploy.Cursor, "!AAM_MANIFEST_INVALID"},
		{"a list in parameters", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d\nsystem_prompt: x\nparameters: {a: [1]}"}, deploy.Cursor, "!AAM_MANIFEST_INVALID"},
		{"a rule without a prompt", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d\nsystem_prompt: gone.md"}, deploy.Cursor, "---\ndescription: \"d\"\nalwaysApply: true\n---\n\n# Agent: n\n"},
		{"a rule without a prompt, with lists", map[string]string{"pack/a/agent.yaml": "name: n\ndescription: d\nsystem_prompt: gone.md\nskills: [s]\nprompts: [p]"}, deploy.Cursor,
			"---\ndescription: \"d\"\nalwaysApply: true\n---\n\n# Agent: n\n\n## Available Skills\n\n- s\n\n## Available Prompts\n\n- p\n"},
		{"a rule with an empty prompt", map[string]string{"pack/a/system-prompt.md": ""}, deploy.Cursor, "---\ndescription: \"D\"\nalwaysApply: true\n---\n\n# Agent: a\n"},
		{"a rule with a blank prompt", map[string]string{"pack/a/system-prompt.md": " \n"}, deploy.Cursor, "---\ndescription: \"D\"\nalwaysApply: true\n---\n\n# Agent: a\n\n\n"},
		{"a rule from a single file", map[string]string{"pack/a": "x"}, deploy.Cursor, "---\ndescription: \"D\"\nalwaysApply: true\n---\n\n# Agent: a\n"},
		{"line ends", map[string]string{"pack/a/system-prompt.md": "a\r\nb\rc\n"}, deploy.Copilot, "a\nb\nc\n"},
		{"a rule without agent.yaml", map[string]string{"pack/a/system-prompt.md": "x \n"}, deploy.Cursor, "---\ndescription: \"D\"\nalwaysApply: true\n---\n\n# Agent: a\n\nx\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.files)
			p := w.plan()
			err := p.Deploy(test.platform, w.pack, agent)
			if code, fails := strings.CutPrefix(test.want, "!"); fails {
				if got := fault.From(err); got == nil || string(got.Code) != code {
					t.Errorf("got %v, want %s", err, code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.make(t, p)
			for _, got := range w.read(t) {
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	prompt := func(path string) manifest.Artifact {
		return manifest.Artifact{Type: manifest.Prompt, Name: "x", Path: path}
	}
	instruction := manifest.Artifact{Type: manifest.Instruction, Name: "x", Path: "i.md"}
	tests := []struct {
		name     string
		artifact manifest.Artifact
		platform string
		body     string
		code     fault.Code
	}{
		{"an end marker in the text", instruction, deploy.Claude, "a\n<!-- END AAM: x instruction -->\nb", fault.ArchiveInvalid},
		{"a begin marker of another section", instruction, deploy.Codex, "<!-- BEGIN AAM: y agent -->", fault.ArchiveInvalid},
		{"a prompt that is a directory", prompt("."), deploy.Cursor, "", fault.ManifestInvalid},
		{"a path out of the package", prompt("../i.md"), deploy.Cursor, "", fault.ArchiveInvalid},
		{"a symbolic link out of the package", prompt("link"), deploy.Cursor, "", fault.ArchiveInvalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"pack/i.md": test.body, "i.md": "outside"})
			if err := os.Symlink("../i.md", filepath.Join(w.pack, "link")); err != nil {
				t.Fatal(err)
			}
			if got := fault.From(w.plan().Deploy(test.platform, w.pack, test.artifact)); got == nil || got.Code != test.code {
				t.Errorf("got %v, want %s", got, test.code)
			}
		})
	}
	t.Run("an absent artifact", func(t *testing.T) {
		w := newWorld(t, nil)
		if err := w.plan().Deploy(deploy.Cursor, w.pack, prompt("gone.md")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("codex without a home directory", func(t *testing.T) {
		w := newWorld(t, map[string]string{"pack/i.md": "x"})
		p := w.plan()
		p.Home = ""
		if got := fault.From(p.Deploy(deploy.Codex, w.pack, prompt("i.md"))); got == nil || got.Code != fault.PermissionDenied {
			t.Errorf("got %v", got)
		}
	})
	t.Run("CLAUDE.md that is a link out of the project", func(t *testing.T) {
		w := newWorld(t, map[string]string{"pack/i.md": "x", "theirs.md": "theirs"})
		if err := os.Symlink("../theirs.md", filepath.Join(w.project, "CLAUDE.md")); err != nil {
			t.Fatal(err)
		}
		if got := fault.From(w.plan().Deploy(deploy.Claude, w.pack, instruction)); got == nil || got.Code != fault.PermissionDenied {
			t.Errorf("got %v", got)
		}
	})
}

func TestDeployRefusesSectionFileThatIsSymlink(t *testing.T) {
	w := newWorld(t, map[string]string{"pack/i.md": "x", "project/AGENTS.md": "Ours\n"})
	if err := os.Symlink("AGENTS.md", filepath.Join(w.project, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	p := w.plan()
	a := manifest.Artifact{Type: manifest.Instruction, Name: "x", Path: "i.md"}
	if err := errors.Join(p.Deploy(deploy.Claude, w.pack, a), p.Deploy(deploy.Codex, w.pack, a)); err != nil {
		t.Fatal(err)
	}
	w.make(t, p)
	want := "Ours\n\n<!-- BEGIN AAM: x instruction -->\nx\n<!-- END AAM: x instruction -->\n"
	if got := w.read(t)["project/AGENTS.md"]; got != want {
		t.Errorf("got %q", got)
	}
	if info, err := os.Lstat(filepath.Join(w.project, "CLAUDE.md")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the symbolic link was replaced")
	}
}

func TestUndeployKeepsEmptyUserFile(t *testing.T) {
	w := newWorld(t, map[string]string{"project/CLAUDE.md": ""})
	p := w.plan()
	if err := p.Undeploy(deploy.Claude, manifest.Instruction, "x"); err != nil {
		t.Fatal(err)
	}
	w.make(t, p)
	if _, there := w.read(t)["project/CLAUDE.md"]; !there || p.Removed() != 0 {
		t.Errorf("the file was removed; Removed returns %d", p.Removed())
	}
}
