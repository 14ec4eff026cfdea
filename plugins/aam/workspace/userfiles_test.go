package workspace_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

const backup = "project/.aam/backup/20260210T120000Z/"

// force returns the options for an install with force to a platform.
func force(platform string) workspace.Options {
	o := options(platform)
	o.Force = true
	return o
}

// placed returns the files outside of .aam, and the files in backups.
func (w world) placed(t *testing.T) map[string]string {
	t.Helper()
	found := w.read(t)
	maps.DeleteFunc(found, func(name, _ string) bool {
		return strings.HasPrefix(name, "project/.aam/") && !strings.HasPrefix(name, "project/.aam/backup/")
	})
	return found
}

// TestInstallOverUserFile installs a package over content that no package has deployed. The install must report a
// conflict or, with force, move the content to the backup.
func TestInstallOverUserFile(t *testing.T) {
	section := "Ours\n\n<!-- BEGIN AAM: rule instruction -->\nmine\n<!-- END AAM: rule instruction -->\n"
	tests := []struct {
		name, platform, file, text string
		backup                     string
	}{
		{"prompt", "cursor", "project/.cursor/prompts/prompt.md", "mine", backup + ".cursor/prompts/prompt.md"},
		{"prompt with the same content", "claude", "project/.claude/prompts/prompt.md", "a 1.0.0", backup + ".claude/prompts/prompt.md"},
		{"skill", "claude", "project/.claude/skills/skill/SKILL.md", "mine", backup + ".claude/skills/skill/SKILL.md"},
		{"file in place of a skill", "copilot", "project/.github/skills/skill", "mine", backup + ".github/skills/skill"},
		{"directory in place of a prompt", "copilot", "project/.github/prompts/prompt.md/x", "mine", backup + ".github/prompts/prompt.md/x"},
		{"agent", "cursor", "project/.cursor/rules/agent-agent.mdc", "mine", backup + ".cursor/rules/agent-agent.mdc"},
		{"rule", "cursor", "project/.cursor/rules/rule.mdc", "mine", backup + ".cursor/rules/rule.mdc"},
		{"section", "claude", "project/CLAUDE.md", section, backup + "CLAUDE.md"},
		{"skill in the home directory", "codex", "home/.codex/skills/skill/x", "mine", "home/.codex/.aam/backup/20260210T120000Z/skills/skill/x"},
		{"prompt in the home directory", "codex", "home/.codex/prompts/prompt.md", "mine", "home/.codex/.aam/backup/20260210T120000Z/prompts/prompt.md"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.write(t, test.file, test.text)
			before := w.read(t)
			p := w.pack(t, "a", "1.0.0", "", one("")...)
			_, err := w.open(files.Disk{}).Install([]workspace.Package{p}, options(test.platform))
			got := fault.From(err)
			if got == nil || got.Code != fault.FileExists || !strings.Contains(got.Hint, "force") || got.Details["paths"] == nil {
				t.Fatalf("without force: got %v", err)
			}
			if diff := cmp.Diff(before, w.read(t)); diff != "" {
				t.Fatalf("without force (-before +after)\n%s", diff)
			}
			done, err := w.open(files.Disk{}).Install([]workspace.Package{p}, force(test.platform))
			if err != nil {
				t.Fatal(err)
			}
			if got := w.read(t)[test.backup]; got != test.text {
				t.Errorf("the backup is %q: %v", got, w.placed(t))
			}
			if len(done.Backups) != 1 || !strings.HasPrefix(filepath.Join(w.root, test.backup), done.Backups[0].Backup) {
				t.Errorf("got %v", done.Backups)
			}
		})
	}
}

func TestInstallOverSymlinkOfUser(t *testing.T) {
	w := newWorld(t)
	w.write(t, "theirs/SKILL.md", "mine")
	w.write(t, "project/.claude/skills/x", "")
	link := filepath.Join(w.project, ".claude", "skills", "s")
	if err := os.Symlink(filepath.Join(w.root, "theirs"), link); err != nil {
		t.Fatal(err)
	}
	p := w.pack(t, "a", "1.0.0", "", artifact{"skill", "s"})
	if _, err := w.open(files.Disk{}).Install([]workspace.Package{p}, options("claude")); fault.From(err).Code != fault.FileExists {
		t.Fatalf("got %v", err)
	}
	if _, err := w.open(files.Disk{}).Install([]workspace.Package{p}, force("claude")); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(w.root, backup, ".claude/skills/s")
	if text, err := os.ReadFile(filepath.Join(moved, "SKILL.md")); err != nil || string(text) != "mine" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestEditedDeployment checks that an edited deployment is neither deleted nor, without force, replaced.
func TestEditedDeployment(t *testing.T) {
	edits := map[string][]string{
		"cursor":  {"project/.cursor/prompts/prompt.md", "project/.cursor/skills/skill/x.md", "project/.cursor/skills/skill/new.md", "project/.cursor/rules/rule.mdc", "project/.cursor/rules/agent-agent.mdc"},
		"claude":  {"project/.claude/agents/agent.md"},
		"copilot": {"project/.github/instructions/rule.instructions.md"},
		"codex":   {"home/.codex/skills/skill/x.md", "home/.codex/prompts/prompt.md"},
	}
	for platform, names := range edits {
		for _, name := range names {
			for _, ledger := range []bool{true, false} {
				t.Run(name, func(t *testing.T) {
					w := newWorld(t)
					old, fresh := w.pack(t, "a", "1.0.0", "", one("")...), w.pack(t, "a", "1.0.1", "", one("")...)
					w.install(t, platform, old)
					w.write(t, name, "edited")
					if !ledger { // without a ledger, the package looks as if the aam program had installed it
						if err := os.Remove(filepath.Join(w.project, ".aam", "deployments.yaml")); err != nil {
							t.Fatal(err)
						}
					}
					other := w.copy(t)
					o := options(platform)
					o.DefaultPlatform = platform
					if _, err := w.open(files.Disk{}).Install([]workspace.Package{fresh}, o); fault.From(err).Code != fault.FileExists {
						t.Fatalf("without force: got %v", err)
					}
					o.Force = true
					done, err := w.open(files.Disk{}).Install([]workspace.Package{fresh}, o)
					if err != nil || len(done.Backups) != 1 || !slices.Contains(slices.Collect(maps.Values(w.placed(t))), "edited") {
						t.Errorf("with force: got %+v, %v", done, err)
					}
					removed, err := other.open(files.Disk{}).Uninstall("a", platform)
					left := other.placed(t)
					if err != nil || len(removed.Backups) != 1 || !slices.Contains(slices.Collect(maps.Values(left)), "edited") || left[name] != "" {
						t.Errorf("uninstall: got %+v, %v, %v", removed, err, left)
					}
				})
			}
		}
	}
}

func TestEditedSection(t *testing.T) {
	w := newWorld(t)
	w.install(t, "claude", w.pack(t, "a", "1.0.0", "", artifact{"instruction", "rule"}))
	edited := strings.Replace(w.read(t)["project/CLAUDE.md"], "a 1.0.0", "a 1.0.0 and more", 1)
	w.write(t, "project/CLAUDE.md", edited)
	p := w.pack(t, "a", "1.0.1", "", artifact{"instruction", "rule"})
	if _, err := w.open(files.Disk{}).Install([]workspace.Package{p}, options("claude")); fault.From(err).Code != fault.FileExists {
		t.Errorf("got %v", err)
	}
	done, err := w.open(files.Disk{}).Uninstall("a", "claude")
	if got := w.read(t); err != nil || len(done.Backups) != 1 || got["project/CLAUDE.md"] != "Ours\n" || got[backup+"CLAUDE.md"] != edited {
		t.Errorf("got %+v, %v, %v", done, err, got)
	}
	t.Run("text outside of the section is not part of it", func(t *testing.T) {
		w.install(t, "claude", p)
		w.write(t, "project/CLAUDE.md", "More\n"+w.read(t)["project/CLAUDE.md"]+"\nEnd\n")
		done, err := w.open(files.Disk{}).Uninstall("a", "claude")
		if err != nil || len(done.Backups) != 0 || w.read(t)["project/CLAUDE.md"] != "More\nOurs\nEnd\n" {
			t.Errorf("got %+v, %v, %q", done, err, w.read(t)["project/CLAUDE.md"])
		}
	})
}

// TestFilesCreatedByProgramsAreNotEdits checks that .DS_Store and __pycache__ in the directory of a skill do not count
// as edits.
func TestFilesCreatedByProgramsAreNotEdits(t *testing.T) {
	w := newWorld(t)
	w.install(t, "claude", w.pack(t, "a", "1.0.0", "", artifact{"skill", "s"}))
	w.write(t, "project/.claude/skills/s/__pycache__/x.pyc", "x")
	w.write(t, "project/.claude/skills/s/.DS_Store", "x")
	w.install(t, "claude", w.pack(t, "a", "1.0.1", "", artifact{"skill", "s"}))
	if done, err := w.open(files.Disk{}).Uninstall("a", "claude"); err != nil || len(done.Backups) != 0 {
		t.Errorf("got %+v, %v", done, err)
	}
}

// TestSharedArtifact installs two packages that have the same artifact. While one of the packages is installed, the
// artifact must stay deployed, with the content of that package.
func TestSharedArtifact(t *testing.T) {
	for _, test := range []struct{ platform, file string }{
		{"cursor", "project/.cursor/skills/s/x.md"}, {"claude", "project/.claude/skills/s/x.md"}, {"codex", "home/.codex/skills/s/x.md"},
	} {
		for _, remove := range []string{"a", "b"} {
			t.Run(test.platform+" without "+remove, func(t *testing.T) {
				w := newWorld(t)
				before := w.placed(t)
				w.install(t, test.platform, w.pack(t, "a", "1.0.0", "", artifact{"skill", "s"}))
				w.install(t, test.platform, w.pack(t, "b", "1.0.0", "", artifact{"skill", "s"}))
				other := map[string]string{"a": "b", "b": "a"}[remove]
				if done, err := w.open(files.Disk{}).Uninstall(remove, ""); err != nil || len(done.Backups) != 0 {
					t.Fatalf("got %+v, %v", done, err)
				}
				if got := w.read(t)[test.file]; got != other+" 1.0.0" {
					t.Errorf("got %q", got)
				}
				if done, err := w.open(files.Disk{}).Uninstall(other, ""); err != nil || done.FilesRemoved != 1 {
					t.Fatalf("got %+v, %v", done, err)
				}
				if diff := cmp.Diff(before, w.placed(t)); diff != "" {
					t.Errorf("(-before +after)\n%s", diff)
				}
			})
		}
	}
	t.Run("a section", func(t *testing.T) {
		w := newWorld(t)
		w.install(t, "claude", w.pack(t, "a", "1.0.0", "", artifact{"instruction", "s"}))
		w.install(t, "claude", w.pack(t, "b", "1.0.0", "", artifact{"instruction", "s"}))
		if _, err := w.open(files.Disk{}).Uninstall("b", ""); err != nil || !strings.Contains(w.read(t)["project/CLAUDE.md"], "a 1.0.0\n") {
			t.Errorf("got %v, %q", err, w.read(t)["project/CLAUDE.md"])
		}
	})
	t.Run("edited", func(t *testing.T) {
		w := newWorld(t)
		w.install(t, "claude", w.pack(t, "a", "1.0.0", "", artifact{"prompt", "s"}))
		w.install(t, "claude", w.pack(t, "b", "1.0.0", "", artifact{"prompt", "s"}))
		w.write(t, "project/.claude/prompts/s.md", "edited")
		done, err := w.open(files.Disk{}).Uninstall("b", "")
		got := w.read(t)
		if err != nil || len(done.Backups) != 1 || got["project/.claude/prompts/s.md"] != "a 1.0.0" || got[backup+".claude/prompts/s.md"] != "edited" {
			t.Errorf("got %+v, %v, %v", done, err, w.placed(t))
		}
	})
	t.Run("a version without it", func(t *testing.T) {
		w := newWorld(t)
		w.install(t, "claude", w.pack(t, "a", "1.0.0", "", artifact{"prompt", "s"}))
		w.install(t, "claude", w.pack(t, "b", "1.0.0", "", artifact{"prompt", "s"}))
		w.install(t, "claude", w.pack(t, "b", "2.0.0", "", artifact{"prompt", "t"}))
		if got := w.read(t)["project/.claude/prompts/s.md"]; got != "a 1.0.0" {
			t.Errorf("got %q", got)
		}
	})
}

func TestFolderOfPackageThatIsNotInstalledIsKept(t *testing.T) {
	w := newWorld(t)
	w.write(t, "project/.aam/packages/a/notes.md", "mine")
	done, err := w.open(files.Disk{}).Install([]workspace.Package{w.pack(t, "a", "1.0.0", "", one("")...)}, options("claude"))
	if err != nil || len(done.Backups) != 1 || w.read(t)[backup+".aam/packages/a/notes.md"] != "mine" {
		t.Errorf("got %+v, %v, %v", done, err, w.read(t))
	}
}

func TestBackupsDoNotReplaceEachOther(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, "a", "1.0.0", "", artifact{"prompt", "ask"})
	for _, text := range []string{"first", "second", "third"} {
		w.write(t, "project/.claude/prompts/ask.md", text)
		if _, err := w.open(files.Disk{}).Install([]workspace.Package{p}, force("claude")); err != nil {
			t.Fatal(err)
		}
	}
	got := slices.Sorted(maps.Values(w.placed(t)))
	for _, text := range []string{"first", "second", "third"} {
		if !slices.Contains(got, text) {
			t.Errorf("%s was lost: %q", text, got)
		}
	}
}

func TestBackupFailsAtEachWrite(t *testing.T) {
	testenv.NotShort(t, "fails at each of many writes")
	w := newWorld(t)
	old, fresh := w.pack(t, "b", "1.0.0", "", one("")...), w.pack(t, "b", "2.0.0", "", one("")...)
	users := map[string]string{"home/.codex/skills/skill/x.md": "edited", "home/.codex/prompts/prompt.md": "edited, too", "project/.aam/packages/c/x": "mine"}
	prepare := func(w world) {
		w.install(t, "codex", old)
		for name, text := range users {
			w.write(t, name, text)
		}
		agents := strings.Replace(w.read(t)["project/AGENTS.md"], "b 1.0.0", "edited section", 1)
		w.write(t, "project/AGENTS.md", agents)
		users["AGENTS.md"] = agents
	}
	kept := func(t *testing.T, w world) {
		texts := slices.Collect(maps.Values(w.read(t)))
		for _, text := range users {
			if !slices.Contains(texts, text) {
				t.Errorf("%q was lost", text)
			}
		}
	}
	c := w.pack(t, "c", "1.0.0", "", artifact{"prompt", "other"})
	atEachWrite(t, prepare, func(ws *workspace.Workspace) error {
		_, err := ws.Install([]workspace.Package{fresh, c}, force("codex"))
		return err
	}, kept)
	delete(users, "project/.aam/packages/c/x")
	atEachWrite(t, prepare, func(ws *workspace.Workspace) error {
		_, err := ws.Uninstall("b", "")
		return err
	}, kept)
}
