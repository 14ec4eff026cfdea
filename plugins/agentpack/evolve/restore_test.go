package evolve_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/evolve"
)

func (w *world) restore(moduleID string, dryRun bool) evolve.Restored {
	w.t.Helper()
	restored, warnings, err := evolve.Restore(w.run(), w.applier(), moduleID, dryRun)
	if err != nil || len(warnings) > 0 {
		w.t.Fatalf("%v, %q", err, warnings)
	}
	return restored
}

func TestRestore(t *testing.T) {
	w := newWorld(t)
	all := len(w.run().State.Files)
	if got := w.restore("", false); got.Reason != "no_missing" || got.Files == nil || (got.Summary != evolve.RestoreSummary{Existing: all}) {
		t.Errorf("Restore without missing files returned %+v", got)
	}
	prompt := w.path(".codex/prompts/hello.md")
	w.remove(".codex/prompts/hello.md")
	w.remove("project/.cursor/rules/" + "instructions_one--" + key(w))
	w.write(".codex/AGENTS.md", "an edit")

	want := evolve.Restored{
		Files:   []evolve.RestoredFile{{Target: "codex", Path: prompt, PathPosix: prompt, ModuleIDs: []string{"prompt:hello"}}},
		Summary: evolve.RestoreSummary{Missing: 1, Existing: 1}, Reason: "dry_run",
	}
	if diff := cmp.Diff(want, w.restore("prompt:hello", true)); diff != "" {
		t.Errorf("Restore in a dry run: %s", diff)
	}
	if _, err := os.Stat(prompt); err == nil {
		t.Error("Restore wrote files in a dry run")
	}
	want.Reason, want.Summary.Restored = "restored", 1
	if diff := cmp.Diff(want, w.restore("prompt:hello", false)); diff != "" {
		t.Errorf("Restore of one module: %s", diff)
	}
	if got, err := os.ReadFile(prompt); err != nil || string(got) != "Hello.\n" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
	if got := w.restore("", false); got.Summary.Restored != 1 || got.Summary.Existing != all-1 {
		t.Errorf("Restore of all modules returned %+v", got)
	}
	if got, err := os.ReadFile(w.path(".codex/AGENTS.md")); err != nil || string(got) != "an edit" {
		t.Errorf("the existing file is %q, %v", got, err)
	}
}

// key returns the hash in the file name of the Cursor rule for the module instructions:one.
func key(w *world) string {
	for _, name := range w.files("project/.cursor/rules") {
		if rest, ok := strings.CutPrefix(name, "instructions_one--"); ok {
			return rest
		}
	}
	w.t.Fatal("the project has no Cursor rule")
	return ""
}

func TestRestoreKeepsDanglingSymlink(t *testing.T) {
	w := newWorld(t)
	w.remove(".codex/prompts/hello.md")
	w.remove(".codex/AGENTS.md")
	if err := os.Symlink("nowhere", w.path(".codex/prompts/hello.md")); err != nil {
		t.Fatal(err)
	}
	result := w.run()
	got, _, err := evolve.Restore(result, w.applier(), "", false)
	if err != nil || got.Summary.Missing != 1 || got.Summary.Restored != 1 || !strings.Contains(strings.Join(result.Warnings, "\n"), "remove the symbolic link") {
		t.Errorf("Restore returned %+v, %q, %v", got, result.Warnings, err)
	}
	if target, err := os.Readlink(w.path(".codex/prompts/hello.md")); err != nil || target != "nowhere" {
		t.Errorf("the link resolves to %q, %v", target, err)
	}
}

func TestRestoreLeavesOutSymlinkOutOfRoot(t *testing.T) {
	w := newWorld(t)
	if err := os.RemoveAll(w.path(".codex/skills/lint")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../project", w.path(".codex/skills/lint")); err != nil {
		t.Fatal(err)
	}
	before := w.files("project")
	result := w.run()
	got, _, err := evolve.Restore(result, w.applier(), "skill:lint", false)
	if err != nil || got.Summary.Missing != 0 || !strings.Contains(strings.Join(result.Warnings, "\n"), w.path(".codex/skills/lint/SKILL.md")+" is left out") {
		t.Errorf("got %+v, %q, %v", got, result.Warnings, err)
	}
	if diff := cmp.Diff(before, w.files("project")); diff != "" {
		t.Error(diff)
	}
}
