package deploy_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

func TestRollbackRestoresFiles(t *testing.T) {
	h := newHome(t, nil)
	h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1"})
	second := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v2"})
	manifests := h.files()
	h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v3"})
	event := h.rollback(second)
	if diff := cmp.Diff(manifests, h.files()); diff != "" {
		t.Errorf("files and manifests: %s", diff)
	}
	got, to := h.load(event), h.load(second)
	if got.Kind != deploy.KindRollback || got.RolledBackTo != second || got.BackupRoot != "" || !cmp.Equal(got.Files, to.Files) || !cmp.Equal(got.Targets, to.Targets) {
		t.Errorf("the recorded snapshot is %+v", got)
	}
	if diff := cmp.Diff([]string{"rollback_restore codex .codex/AGENTS.md +++", "rollback_restore codex .codex/.agentpack.manifest.codex.json +++"}, h.summary(got)); diff != "" {
		t.Errorf("the changes in the recorded snapshot: %s", diff)
	}
	if got.Changes[0].Before != digest.Hex([]byte("v3")) || got.Changes[0].After != digest.Hex([]byte("v2")) {
		t.Errorf("the change in the recorded snapshot is %+v", got.Changes[0])
	}
}

func TestRollbackRemovesLaterFiles(t *testing.T) {
	h := newHome(t, nil)
	first := h.deploy(map[string]string{"codex:.codex/prompts/a.md": "a"})
	h.deploy(map[string]string{"codex:.codex/prompts/a.md": "a", "codex:.codex/prompts/b.md": "b"})
	h.write(".codex/prompts/own.md", "stays")
	event := h.rollback(first)
	h.same(map[string]string{".codex/prompts/a.md": "a", ".codex/prompts/own.md": "stays"})
	want := []string{
		"rollback_restore codex .codex/prompts/a.md +++", "rollback_restore codex .codex/prompts/.agentpack.manifest.codex.json +++",
		"rollback_delete codex .codex/prompts/b.md -+-",
	}
	if diff := cmp.Diff(want, h.summary(h.load(event))); diff != "" {
		t.Error(diff)
	}
}

func TestRollbackAppliesToAllTargets(t *testing.T) {
	h := newHome(t, nil)
	both := map[string]string{"codex:.codex/AGENTS.md": "v1", "cursor:project/.cursor/r.md": "v1"}
	first := h.deploy(both)
	h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v2", "cursor:project/.cursor/r.md": "v2"})
	h.rollback(first)
	h.same(map[string]string{".codex/AGENTS.md": "v1", "project/.cursor/r.md": "v1"})
}

func TestRollbackToCurrentSnapshotRepairs(t *testing.T) {
	h := newHome(t, nil)
	first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1", "codex:.codex/prompts/a.md": "a"})
	h.write(".codex/AGENTS.md", "an edit")
	h.remove(".codex/prompts")
	if _, _, err := h.deployer().Rollback(first); err != nil {
		t.Fatal(err)
	}
	h.same(map[string]string{".codex/AGENTS.md": "v1", ".codex/prompts/a.md": "a"})
}

// TestRollbackKeepsEdits checks that a rollback copies a file that was edited since the deploy before it replaces or
// removes the file.
func TestRollbackKeepsEdits(t *testing.T) {
	for name, old := range map[string]bool{"snapshots with copies": false, "snapshots of an older version": true} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, nil)
			first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1", "codex:.codex/same.md": "same"})
			second := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v2", "codex:.codex/same.md": "same", "codex:.codex/later.md": "later", "codex:.codex/gone.md": "gone"})
			if old {
				h.remove(".agentpack/state/snapshots/" + first + "/state")
				h.remove(".agentpack/state/snapshots/" + second + "/state")
			}
			edits := map[string]string{".codex/AGENTS.md": "my edit", ".codex/later.md": "my other edit"}
			for path, content := range edits {
				h.write(path, content)
			}
			h.remove(".codex/gone.md")
			h.now = h.now.Add(time.Minute)
			event, warnings, err := h.deployer().Rollback(first)
			if err != nil || len(warnings) != len(edits) {
				t.Fatal(warnings, err)
			}
			h.same(map[string]string{".codex/AGENTS.md": "v1", ".codex/same.md": "same"})
			for path, want := range edits {
				kept := deploy.Layout{Dir: h.at(".agentpack/state/snapshots"), ID: event}.Backup(output.Key{Target: "codex", Path: h.at(path)})
				if got, err := os.ReadFile(kept); err != nil || string(got) != want {
					t.Errorf("%s: got %q, %v", path, got, err)
				}
				if text := strings.Join(warnings, "\n"); !strings.Contains(text, h.at(path)) || !strings.Contains(text, kept) {
					t.Errorf("the warnings do not name %s and %s: %q", h.at(path), kept, text)
				}
			}
		})
	}
}

func TestPlanAfterRollbackIsManagedUpdate(t *testing.T) {
	h := newHome(t, nil)
	first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1"})
	h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v2"})
	h.rollback(first)
	changes := h.plan(map[string]string{"codex:.codex/AGENTS.md": "v2"}).Plan.Changes
	if len(changes) != 1 || changes[0].UpdateKind != plan.ManagedUpdate {
		t.Errorf("the plan after the rollback is %+v", changes)
	}
}

func TestRollbackRefuses(t *testing.T) {
	cases := []struct {
		name    string
		prepare func(h *home, first, event string) (to string)
		want    string
	}{
		{"to an unknown id", func(*home, string, string) string { return "1" }, "there is no snapshot"},
		{"to a rollback", func(_ *home, _, event string) string { return event }, "roll back to "},
		{"to a path", func(_ *home, first, _ string) string { return "../snapshots/" + first }, "there is no snapshot"},
		{"a changed copy", func(h *home, first, _ string) string {
			h.write(stateCopy(h, first), "tampered")
			return first
		}, "was changed since it was made"},
		{"a missing copy", func(h *home, first, _ string) string {
			h.remove(stateCopy(h, first))
			return first
		}, "the snapshot's copy of"},
		{"a damaged record", func(h *home, first, _ string) string {
			h.write(".agentpack/state/snapshots/"+first+".json", "{")
			return first
		}, "cannot be read"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			h := newHome(t, nil)
			first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1", "codex:.codex/prompts/a.md": "a"})
			second := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v2", "codex:.codex/prompts/b.md": "b"})
			event := h.rollback(second)
			to := test.prepare(h, first, event)
			before := h.files()
			_, _, err := h.deployer().Rollback(to)
			if err == nil || !strings.Contains(err.Error(), test.want) || fault.Of(err).Code != fault.Unexpected {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, h.files()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func stateCopy(h *home, id string) string {
	layout := deploy.Layout{Dir: ".agentpack/state/snapshots", ID: id}
	return layout.State(output.Key{Target: "codex", Path: h.at(".codex/prompts/a.md")})
}

func TestRollbackRefusesSymlinkOutOfRoot(t *testing.T) {
	h := newHome(t, map[string]string{"elsewhere/x": "x"})
	first := h.deploy(map[string]string{"codex:.codex/prompts/d/a.md": "a"})
	h.remove(".codex/prompts/d")
	if err := os.Symlink("../../elsewhere", h.at(".codex/prompts/d")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.deployer().Rollback(first); fault.Of(err).Code != fault.IOInvalidPath {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(h.at("elsewhere/a.md")); err == nil {
		t.Error("the refused rollback wrote a file outside of its directories")
	}
}

// elsewhereFS is a file system without some directories, like a sandbox to which the user has granted another project.
type elsewhereFS struct {
	filesystem.FS
	granted []string
}

func (f elsewhereFS) CheckWritable(dir string) error {
	for _, granted := range f.granted {
		if dir == granted || contain.Below(granted, dir) {
			return f.FS.CheckWritable(dir)
		}
	}
	return fs.ErrPermission
}

func TestRollbackWarnsAboutHiddenFiles(t *testing.T) {
	for name, old := range map[string]bool{"with copies of the state": false, "with snapshots of older versions": true} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, nil)
			first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1"})
			second := h.deploy(map[string]string{"cursor:project/.cursor/r.md": "r", "cursor:project/.cursor/d/c.md": "c", "codex:.codex/gone.md": "g"})
			unseen := []string{"project/.cursor/r.md", "project/.cursor/d/c.md"}
			if old {
				unseen = append(unseen, "project/.cursor/.agentpack.manifest.cursor.json")
				h.remove(".agentpack/state/snapshots/" + first + "/state")
				h.remove(".agentpack/state/snapshots/" + second + "/state")
			}
			h.remove(".codex/gone.md")
			// In a sandbox, a directory that is not granted seems not to exist.
			if err := os.Rename(h.at("project"), h.at("away")); err != nil {
				t.Fatal(err)
			}
			h.fs = elsewhereFS{h.fs, []string{h.at(".codex"), h.at(".agentpack")}}
			event, warnings, err := h.deployer().Rollback(first)
			warning := strings.Join(warnings, "\n")
			if err != nil || strings.Contains(warning, ".codex") {
				t.Fatal(warning, err)
			}
			for _, path := range unseen {
				if !strings.Contains(warning, h.at(path)) {
					t.Errorf("%s is not in %q", path, warning)
				}
			}
			for _, change := range h.summary(h.load(event)) {
				if strings.Contains(change, "project") {
					t.Errorf("a change that was not made is recorded: %s", change)
				}
			}
			h.same(map[string]string{".codex/AGENTS.md": "v1", "away/.cursor/r.md": "r", "away/.cursor/d/c.md": "c"})
		})
	}
}

func TestRollbackDoesNotWarnAboutRemovedFiles(t *testing.T) {
	for _, removed := range []string{"project/.cursor/d/c.md", "project/.cursor/d", "project/.cursor"} {
		t.Run(removed, func(t *testing.T) {
			h := newHome(t, nil)
			first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1"})
			h.deploy(map[string]string{"cursor:project/.cursor/d/c.md": "c"})
			h.remove(removed)
			h.fs = elsewhereFS{h.fs, []string{h.at(".codex"), h.at(".agentpack"), h.at("project")}}
			h.rollback(first)
			h.same(map[string]string{".codex/AGENTS.md": "v1"})
		})
	}
}

// TestRollbackThroughOldSnapshots rolls back to a snapshot without copies of the files after the deploy. Such a
// rollback reverts the recorded changes.
func TestRollbackThroughOldSnapshots(t *testing.T) {
	h := newHome(t, map[string]string{".codex/prompts/adopted.md": "the user's"})
	first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1", "codex:.codex/prompts/gone.md": "gone"})
	second := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v2", "codex:.codex/prompts/adopted.md": "ours"})
	third := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v3", "codex:.codex/prompts/new.md": "new"})
	for _, id := range []string{first, second, third} {
		h.remove(".agentpack/state/snapshots/" + id + "/state")
	}
	h.rollback(first)
	h.same(map[string]string{".codex/AGENTS.md": "v1", ".codex/prompts/gone.md": "gone", ".codex/prompts/adopted.md": "the user's"})

	h.write(".codex/AGENTS.md", "an edit")
	h.rollback(first) // first is the current snapshot, and has no copies from which files could be restored
	h.same(map[string]string{".codex/AGENTS.md": "an edit", ".codex/prompts/gone.md": "gone", ".codex/prompts/adopted.md": "the user's"})
}

func TestRollbackRefusesCopyOutsideSnapshots(t *testing.T) {
	h := newHome(t, map[string]string{"secret": "s"})
	first := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v1"})
	second := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "v2"})
	for _, id := range []string{first, second} {
		h.remove(".agentpack/state/snapshots/" + id + "/state")
	}
	s := h.load(second)
	s.Changes[0].BackupPath, s.Changes[0].Before = h.at("secret"), ""
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	h.write(".agentpack/state/snapshots/"+second+".json", string(text))
	if _, _, err := h.deployer().Rollback(first); fault.Of(err).Code != fault.IOInvalidPath {
		t.Errorf("got %v", err)
	}
	h.same(map[string]string{".codex/AGENTS.md": "v2", "secret": "s"})
}
