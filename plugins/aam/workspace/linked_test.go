package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

// TestLinkedPlatformDirectoryIsNamedInHint checks that the hint for a platform directory that is a symbolic link out of what the plugin may
// change is about the link: no grant helps.
func TestLinkedPlatformDirectoryIsNamedInHint(t *testing.T) {
	for name, target := range map[string]string{"out of the project": "../../theirs", "to another directory of the project": "../skills"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, dir := range []string{"theirs", "project/skills", "project/.claude"} {
				if err := os.MkdirAll(filepath.Join(w.root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(target, filepath.Join(w.project, ".claude", "skills")); err != nil {
				t.Fatal(err)
			}
			_, err := w.open(files.Disk{}).Install([]workspace.Package{w.pack(t, "a", "1.0.0", "", one("")...)}, options("claude"))
			got := fault.From(err)
			if got == nil || got.Code != fault.PermissionDenied || !strings.Contains(got.Hint, "Replace the symbolic link") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestPlatformsThatShareDirectory has a symbolic link that makes two platforms use the same directory of skills.
func TestPlatformsThatShareDirectory(t *testing.T) {
	w := newWorld(t)
	shared, linked := filepath.Join(w.project, ".claude", "skills"), filepath.Join(w.project, ".github", "skills")
	err := errors.Join(os.MkdirAll(shared, 0o755), os.MkdirAll(filepath.Dir(linked), 0o755), os.Symlink("../.claude/skills", linked))
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "project/.claude/skills/own/SKILL.md", "mine")
	ws := w.open(files.Disk{})
	install := func(p workspace.Package, platform string) {
		t.Helper()
		if _, err := ws.Install([]workspace.Package{p}, options(platform)); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"1.0.0", "2.0.0"} {
		p := w.pack(t, "a", version, "", one("")...)
		install(p, "claude")
		install(p, "copilot")
	}
	w.write(t, "project/.claude/skills/skill/notes.md", "edited")
	done, err := ws.Uninstall("a", "cursor")
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Backups) != 1 {
		t.Errorf("backups: got %v", done.Backups)
	}
	for name, want := range map[string]string{"project/.claude/skills/own/SKILL.md": "mine", backup + ".claude/skills/skill/notes.md": "edited"} {
		if got, err := os.ReadFile(filepath.Join(w.root, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(shared, "skill")); !os.IsNotExist(err) {
		t.Errorf("the skill is still there: %v", err)
	}
}
