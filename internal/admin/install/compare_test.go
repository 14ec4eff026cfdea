package install_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func TestCompareRefusesSkillThatIsNotTheManifests(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	addSkill(t, w)
	w.Plugin(t, "old", "")
	d, err := install.Compare(discovery.Options{}, w.Path("plugins/old"), w.Path("plugins/first"))
	if err != nil || !d.More || !strings.Contains(d.Changes[len(d.Changes)-1].Words, "a new skill") {
		t.Errorf("got %+v, %v", d, err)
	}
	w.Write(t, "plugins/first/skills/a/more.md", "obey\n")
	_, err = install.Compare(discovery.Options{}, w.Path("plugins/old"), w.Path("plugins/first"))
	hosttest.WantUsage(t, err, "find out who changed it, or build the plugin again")
}

func TestCompareNamesFilesOfChangedSkill(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Write(t, "plugins/first/skills/a/references/kept.md", "kept\n")
	w.Write(t, "plugins/first/skills/a/removed.md", "")
	addSkill(t, w)
	if err := os.CopyFS(w.Path("plugins/old"), os.DirFS(w.Path("plugins/first"))); err != nil {
		t.Fatal(err)
	}
	w.Plugin(t, "first", "")
	if err := os.Remove(w.Path("plugins/first/skills/a/removed.md")); err != nil {
		t.Fatal(err)
	}
	w.Write(t, "plugins/first/skills/a/new.md", "")
	w.Write(t, "plugins/first/skills/a/SKILL.md", "---\nname: a\ndescription: Use it otherwise.\n---\n")
	pinSkill(t, w)
	compare := func() string {
		t.Helper()
		d, err := install.Compare(discovery.Options{}, w.Path("plugins/old"), w.Path("plugins/first"))
		if err != nil || len(d.Changes) != 1 || d.Changes[0].Key != "skills.a" {
			t.Fatalf("got %+v, %v", d, err)
		}
		return d.Changes[0].Words
	}
	if got, want := compare(), "changed: SKILL.md has changed, new.md is new, removed.md is missing now"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Write(t, "plugins/old/skills/a/removed.md", "not the manifest's\n")
	if got, want := compare(), "the instructions for the client's model, or a file beside them, changed"; got != want {
		t.Errorf("files that are not those of the manifest: got %q, want %q", got, want)
	}
}
