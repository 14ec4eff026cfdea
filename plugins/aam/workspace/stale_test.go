package workspace_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

// program simulates an install or uninstall by the aam program, which does not know the ledger. It makes the change
// with the plugin in a copy of the world that has no ledger. Then it copies all files back to the world, but keeps the
// old ledger.
func (w world) program(t *testing.T, platform string, p ...workspace.Package) {
	t.Helper()
	path := filepath.Join(w.project, ".aam", "deployments.yaml")
	ledger, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := w.copy(t)
	if err := os.Remove(filepath.Join(other.project, ".aam", "deployments.yaml")); err != nil {
		t.Fatal(err)
	}
	o := force(platform)
	o.DefaultPlatform = platform
	ws := other.open(files.Disk{})
	ws.Now = ws.Now.AddDate(0, 0, 1)
	if len(p) == 0 {
		_, err = ws.Uninstall("a", platform)
	} else {
		_, err = ws.Install(p, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(w.project); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(w.project, os.DirFS(other.project)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, ledger, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestStaleLedger has the aam program change a package that the plugin has installed. When the plugin then uninstalls
// the package, it must remove all deployments of the package.
func TestStaleLedger(t *testing.T) {
	tests := []struct {
		name  string
		there func(w world, t *testing.T)
	}{
		{"unchanged", func(world, *testing.T) {}},
		{"another version", func(w world, t *testing.T) {
			w.program(t, "cursor", w.pack(t, "a", "2.0.0", "", artifact{"prompt", "ask"}, artifact{"skill", "fresh"}))
		}},
		{"the same version on another platform", func(w world, t *testing.T) {
			w.program(t, "cursor", w.pack(t, "a", "1.0.0", "", artifact{"prompt", "ask"}, artifact{"skill", "old"}, artifact{"instruction", "i"}))
		}},
		{"uninstalled from another platform", func(w world, t *testing.T) { w.program(t, "cursor") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			before := w.placed(t)
			w.install(t, "claude", w.pack(t, "a", "1.0.0", "", artifact{"prompt", "ask"}, artifact{"skill", "old"}, artifact{"instruction", "i"}))
			test.there(w, t)
			done, err := w.open(files.Disk{}).Uninstall("a", "cursor")
			if err != nil || done.FilesRemoved == 0 || done.Version == "" || len(done.Backups) != 0 {
				t.Errorf("got %+v, %v", done, err)
			}
			if diff := cmp.Diff(before, w.placed(t)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
			if _, err := w.open(files.Disk{}).Uninstall("a", "cursor"); fault.From(err).Code != fault.PackageNotInstalled {
				t.Errorf("once more: got %v", err)
			}
		})
	}
}

// TestStaleLedgerDoesNotOwnUserFiles checks that a file of the user is not removed if only an outdated ledger contains
// the path of the file.
func TestStaleLedgerDoesNotOwnUserFiles(t *testing.T) {
	w := newWorld(t)
	w.install(t, "claude", w.pack(t, "a", "1.0.0", "", artifact{"prompt", "ask"}))
	w.program(t, "cursor")
	w.write(t, "project/.claude/prompts/ask.md", "mine")
	if _, err := w.open(files.Disk{}).Uninstall("a", "cursor"); fault.From(err).Code != fault.PackageNotInstalled {
		t.Errorf("got %v", err)
	}
	if got := w.read(t)["project/.claude/prompts/ask.md"]; got != "mine" {
		t.Errorf("got %q", got)
	}
	p := w.pack(t, "a", "1.0.0", "", artifact{"prompt", "ask"})
	if _, err := w.open(files.Disk{}).Install([]workspace.Package{p}, options("claude")); fault.From(err).Code != fault.FileExists {
		t.Errorf("got %v", err)
	}
}

// TestDeploymentsOfProgramSurviveOtherCalls checks that a call for another package keeps the deployments of the aam
// program in the ledger.
func TestDeploymentsOfProgramSurviveOtherCalls(t *testing.T) {
	w := newWorld(t)
	a := w.pack(t, "a", "1.0.0", "", artifact{"prompt", "ask"})
	w.install(t, "claude", a)
	before := w.placed(t)
	w.program(t, "cursor", a)
	o := options("claude")
	o.DefaultPlatform = "cursor"
	if _, err := w.open(files.Disk{}).Install([]workspace.Package{w.pack(t, "b", "1.0.0", "", artifact{"prompt", "b"})}, o); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "a"} {
		if _, err := w.open(files.Disk{}).Uninstall(name, "cursor"); err != nil {
			t.Fatal(err)
		}
	}
	delete(before, "project/.claude/prompts/ask.md")
	if diff := cmp.Diff(before, w.placed(t)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

func TestOrphans(t *testing.T) {
	w := newWorld(t)
	orphans := func() []string {
		t.Helper()
		ws := w.open(files.Disk{})
		lock, err := ws.Lock()
		if err != nil {
			t.Fatal(err)
		}
		deployments, err := ws.Deployments(lock)
		if err != nil {
			t.Fatal(err)
		}
		found, err := deployments.Orphans("cursor")
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, name := range slices.Sorted(maps.Keys(found)) {
			paths = append(paths, name+" "+strings.Join(found[name], " "))
		}
		return paths
	}
	a := w.pack(t, "a", "1.0.0", "", artifact{"prompt", "ask"}, artifact{"instruction", "i"})
	w.install(t, "claude", a)
	if got := orphans(); len(got) != 0 {
		t.Errorf("fresh: got %q", got)
	}
	w.program(t, "cursor", w.pack(t, "a", "2.0.0", "", artifact{"prompt", "ask"}))
	if got := orphans(); !slices.Equal(got, []string{"a .claude/prompts/ask.md CLAUDE.md"}) {
		t.Errorf("another version: got %q", got)
	}
	w.program(t, "cursor")
	if got := orphans(); !slices.Equal(got, []string{"a .claude/prompts/ask.md CLAUDE.md"}) {
		t.Errorf("uninstalled: got %q", got)
	}
	w.write(t, "project/.claude/prompts/ask.md", "mine")
	if got := orphans(); !slices.Equal(got, []string{"a CLAUDE.md"}) {
		t.Errorf("the user's: got %q", got)
	}
	if _, err := w.open(files.Disk{}).Uninstall("a", "cursor"); err != nil {
		t.Fatal(err)
	}
	if got := orphans(); len(got) != 0 {
		t.Errorf("removed: got %q", got)
	}
	w.write(t, "project/AGENTS.md", "<!-- BEGIN AAM: gone agent -->\nx\n<!-- END AAM: gone agent -->\n")
	if got := orphans(); !slices.Equal(got, []string{" AGENTS.md (agent gone)"}) {
		t.Errorf("a section of no package: got %q", got)
	}
}
