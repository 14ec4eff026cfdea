package deploy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

func TestApplyWritesFilesManifestsAndSnapshot(t *testing.T) {
	h := newHome(t, map[string]string{".codex/prompts/p.md": "the user's", ".codex/prompts/own.md": "stays"})
	id := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "agents", "codex:.codex/prompts/p.md": "prompt"})
	h.same(map[string]string{".codex/AGENTS.md": "agents", ".codex/prompts/p.md": "prompt", ".codex/prompts/own.md": "stays"})

	text, err := os.ReadFile(h.at(".codex/prompts/.agentpack.manifest.codex.json"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := output.ParseManifest(text, "codex")
	want := &output.Manifest{
		SchemaVersion: 1, GeneratedAt: "2026-02-01T09:01:00Z", Tool: "codex", SnapshotID: id,
		Files: []output.ManifestEntry{{Path: "p.md", SHA256: digest.Hex([]byte("prompt")), Modules: []string{"m:p.md"}}},
	}
	if diff := cmp.Diff(want, manifest); diff != "" || err != nil {
		t.Errorf("the manifest: %v %s", err, diff)
	}
	if _, err := os.Stat(h.at("project")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory without files was made: %v", err)
	}

	s := h.load(id)
	if diff := cmp.Diff([]string{
		"create codex .codex/AGENTS.md --+", "update codex .codex/prompts/p.md +++",
		"create codex .codex/.agentpack.manifest.codex.json --+", "create codex .codex/prompts/.agentpack.manifest.codex.json --+",
	}, h.summary(s)); diff != "" {
		t.Errorf("the changes: %s", diff)
	}
	if s.Kind != deploy.KindDeploy || len(s.Files) != 2 || !cmp.Equal(s.Targets, []string{"codex"}) || s.CreatedAt != "2026-02-01T09:01:00Z" {
		t.Errorf("the recorded snapshot is %+v", s)
	}
	if backup, err := os.ReadFile(s.Changes[1].BackupPath); err != nil || string(backup) != "the user's" {
		t.Errorf("the backup: %q, %v", backup, err)
	}
	layout := deploy.Layout{Dir: h.at(".agentpack/state/snapshots"), ID: id}
	for _, key := range []output.Key{s.Files[0].Key(), s.Files[1].Key(), {Target: "codex", Path: s.Changes[2].Path}, {Target: "codex", Path: s.Changes[3].Path}} {
		if _, err := os.Stat(layout.State(key)); err != nil {
			t.Error(err)
		}
	}
}

func TestBackupOfPrivateFileIsPrivate(t *testing.T) {
	h := newHome(t, map[string]string{".codex/AGENTS.md": "secret", ".codex/prompts/a.md": "open"})
	if err := os.Chmod(h.at(".codex/AGENTS.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := h.deploy(map[string]string{"codex:.codex/AGENTS.md": "new", "codex:.codex/prompts/a.md": "new"})
	got := map[string]fs.FileMode{}
	for _, change := range h.load(id).Changes {
		if change.BackupPath == "" {
			continue
		}
		info, err := os.Stat(change.BackupPath)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(change.Path, h.path+"/")] = info.Mode()
	}
	if diff := cmp.Diff(map[string]fs.FileMode{".codex/AGENTS.md": 0o600, ".codex/prompts/a.md": 0o644}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestApplyRemovesFilesNoLongerWanted(t *testing.T) {
	h := newHome(t, nil)
	h.deploy(map[string]string{"codex:.codex/prompts/a.md": "a", "codex:.codex/prompts/b.md": "b"})
	h.write(".codex/prompts/own.md", "stays")
	id := h.deploy(map[string]string{"codex:.codex/prompts/a.md": "a"})
	h.same(map[string]string{".codex/prompts/a.md": "a", ".codex/prompts/own.md": "stays"})
	if diff := cmp.Diff([]string{"delete codex .codex/prompts/b.md ++-", "update codex .codex/prompts/.agentpack.manifest.codex.json +++"}, h.summary(h.load(id))); diff != "" {
		t.Error(diff)
	}
	h.deploy(map[string]string{}) // this deploy removes the last file and updates the manifest
	h.same(map[string]string{".codex/prompts/own.md": "stays"})
	dirs, _ := output.ReadManifests(h.wanted(nil).Roots[1:2])
	if !dirs[0].Usable || len(dirs[0].Files) > 0 {
		t.Errorf("the manifest: %+v", dirs[0])
	}
}

func TestIsNoOp(t *testing.T) {
	h := newHome(t, map[string]string{".codex/AGENTS.md": "agents"})
	files := map[string]string{"codex:.codex/AGENTS.md": "agents"}
	request := h.plan(files)
	if len(request.Plan.Changes) > 0 || deploy.IsNoOp(request.State, request.Plan) {
		t.Errorf("the plan for an equal file without a manifest: %+v", request.Plan)
	}
	h.deploy(files)
	if request := h.plan(files); !deploy.IsNoOp(request.State, request.Plan) {
		t.Errorf("the plan after the deploy: %+v", request.Plan)
	}
	h.write(".codex/.agentpack.manifest.codex.json", "{")
	if request := h.plan(files); deploy.IsNoOp(request.State, request.Plan) {
		t.Error("IsNoOp takes a damaged manifest for a manifest")
	}
	if request := h.plan(map[string]string{}); !deploy.IsNoOp(request.State, plan.Plan{}) {
		t.Error("IsNoOp returns false without desired files and without planned changes")
	}
}

func TestSnapshotIDsGrowWhileClockStandsStill(t *testing.T) {
	h := newHome(t, nil)
	deployer := h.deployer()
	last := ""
	for i := range 3 {
		request := h.plan(map[string]string{"codex:.codex/AGENTS.md": strings.Repeat("x", i)})
		id, err := deployer.Apply(request)
		if err != nil || id <= last {
			t.Fatalf("%s is not larger than %s, %v", id, last, err)
		}
		last = id
	}
}

func TestApplyRefusesFileChangedSincePlan(t *testing.T) {
	edits := map[string]func(h *home){
		"an update's":           func(h *home) { h.write(".codex/prompts/a.md", "theirs") },
		"a removal's":           func(h *home) { h.write(".codex/prompts/b.md", "theirs") },
		"an update's, now gone": func(h *home) { h.remove(".codex/prompts/a.md") },
		"a creation's":          func(h *home) { h.write(".codex/AGENTS.md", "theirs") },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, nil)
			h.deploy(map[string]string{"codex:.codex/prompts/a.md": "a", "codex:.codex/prompts/b.md": "b"})
			request := h.plan(map[string]string{"codex:.codex/prompts/a.md": "new", "codex:.codex/AGENTS.md": "agents"})
			edit(h)
			before := h.files()
			if _, err := h.deployer().Apply(request); !errors.Is(err, transaction.ErrChanged) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, h.files()); diff != "" {
				t.Error(diff)
			}
			if all, err := deploy.ListSnapshots(h.deployer().Env.SnapshotDir()); err != nil || len(all) != 1 {
				t.Errorf("ListSnapshots returned %d snapshots, %v", len(all), err)
			}
		})
	}
}

func TestApplyRefusesPlanOfAnotherState(t *testing.T) {
	h := newHome(t, nil)
	request := h.plan(map[string]string{"codex:.codex/AGENTS.md": "one"})
	request.State = h.wanted(map[string]string{"codex:.codex/AGENTS.md": "another"})
	if _, err := h.deployer().Apply(request); err == nil || !strings.Contains(err.Error(), "does not match the desired state") {
		t.Errorf("got %v", err)
	}
	h.same(map[string]string{})
}

func TestApplyWithFileOfTwoTargets(t *testing.T) {
	h := newHome(t, nil)
	state := func(second string) *output.State {
		var b output.Builder
		for target, content := range map[string]string{"codex": "one", "zed": second} {
			b.AddRoot(output.Root{Target: target, Path: h.at("project")})
			if err := b.Add(output.Key{Target: target, Path: h.at("project/AGENTS.md")}, []byte(content), output.Origin{Module: "m"}); err != nil {
				t.Fatal(err)
			}
		}
		return b.State()
	}
	run := func(second string) error {
		wanted := state(second)
		planned, err := plan.Compute(wanted, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.deployer().Apply(deploy.Request{State: wanted, Plan: planned})
		return err
	}
	if err := run("another"); err == nil || !strings.Contains(err.Error(), "two targets want different contents") {
		t.Errorf("two targets with different contents of one file: %v", err)
	}
	h.same(map[string]string{})
	if err := run("one"); err != nil {
		t.Errorf("two targets with equal contents of one file: %v", err)
	}
	h.same(map[string]string{"project/AGENTS.md": "one"})
}

// TestRecoverAfterKillAtAnyWrite kills a deploy or rollback at each write. After Recover, files, manifests and
// snapshots either all have the old state or all have the new state.
func TestRecoverAfterKillAtAnyWrite(t *testing.T) {
	one := map[string]string{"codex:.codex/prompts/a.md": "a", "codex:.codex/prompts/b.md": "b"}
	two := map[string]string{"codex:.codex/prompts/a.md": "new", "cursor:project/.cursor/c.md": "c"}
	for _, what := range []string{"deploy", "rollback"} {
		t.Run(what, func(t *testing.T) {
			undone, finished := 0, 0
			for n := 1; ; n++ {
				h := newHome(t, nil)
				first := h.deploy(one)
				run := func(d deploy.Deployer) (err error) {
					if what == "deploy" {
						_, err = d.Apply(h.plan(two))
					} else {
						_, _, err = d.Rollback(first)
					}
					return err
				}
				if what == "rollback" {
					h.deploy(two)
				}
				before, snapshots := h.files(), count(t, h)
				d, f := h.deployer(), &faultfs.FS{FS: h.fs, Mode: faultfs.KillBefore, At: n}
				d.FS = f
				err := run(d)
				killed := f.Reached()
				if err != nil && !killed {
					t.Fatal(err)
				}
				note, err := h.deployer().Recover()
				if err != nil || (note == "") != (!killed || cmp.Equal(before, h.files()) && !strings.Contains(note, "rolled back")) {
					t.Fatalf("kill at change %d: Recover returned %q, %v", n, note, err)
				}
				switch now := h.files(); {
				case cmp.Equal(before, now) && count(t, h) == snapshots:
					undone++
				case !cmp.Equal(before, now) && count(t, h) == snapshots+1:
					finished++
				default:
					t.Errorf("kill at change %d: %d snapshots, %d before the kill, files: %s", n, count(t, h), snapshots, cmp.Diff(before, now))
				}
				if !killed {
					break
				}
				if err := run(h.deployer()); err != nil {
					t.Errorf("kill at change %d: the repeated call failed: %v", n, err)
				}
			}
			if undone < 10 || finished < 3 {
				t.Errorf("Recover rolled back %d times and completed %d times, want both at least once", undone, finished)
			}
		})
	}
}

// TestOperationsPerFile bounds how many operations on files a deploy performs for each file that it creates or updates.
func TestOperationsPerFile(t *testing.T) {
	operations := func(files int) (created, updated int) {
		h := newHome(t, nil)
		wanted := func(content string) map[string]string {
			all := map[string]string{}
			for i := range files {
				all[fmt.Sprintf("codex:.codex/prompts/%d.md", i)] = content
			}
			return all
		}
		run := func(content string) int {
			h.now = h.now.Add(time.Minute)
			request, d, f := h.plan(wanted(content)), h.deployer(), &faultfs.FS{FS: h.fs, Reads: true}
			d.FS = f
			if _, err := d.Apply(request); err != nil {
				t.Fatal(err)
			}
			return f.Count()
		}
		return run("first"), run("second")
	}
	createdFew, updatedFew := operations(5)
	createdMany, updatedMany := operations(25)
	if each := (createdMany - createdFew) / 20; each > 14 {
		t.Errorf("%d operations for each new file", each)
	}
	if each := (updatedMany - updatedFew) / 20; each > 23 {
		t.Errorf("%d operations for each updated file", each)
	}
}

// TestFailedDeployLeavesNoCopies checks that an error at any operation leaves neither copies nor markers, at the latest after
// Recover, and that Recover leaves the directories of other programs as they are.
func TestFailedDeployLeavesNoCopies(t *testing.T) {
	const foreign = ".agentpack/state/snapshots/77/backup/codex/copy" // as the real agentpack leaves it before its record
	for _, mode := range []faultfs.Mode{faultfs.Fail, faultfs.FailAll, faultfs.Full, faultfs.KillAfter} {
		failed := 0
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			h := newHome(t, map[string]string{foreign: "kept"})
			d := h.deployer()
			d.FS = f
			if _, err := d.Apply(h.plan(map[string]string{"codex:.codex/prompts/a.md": "a"})); err != nil {
				failed++
			}
			if _, err := h.deployer().Recover(); err != nil {
				t.Fatal(err)
			}
			all, err := deploy.ListSnapshots(d.Env.SnapshotDir())
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"77"}
			for _, s := range all {
				want = append(want, s.ID, s.ID+".json")
			}
			entries, err := os.ReadDir(d.Env.SnapshotDir())
			var got []string
			for _, entry := range entries {
				got = append(got, entry.Name())
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s at operation %d: %v %s", mode, f.At, err, diff)
			}
			if content, err := os.ReadFile(h.at(foreign)); string(content) != "kept" {
				t.Errorf("%s at operation %d: %v", mode, f.At, err)
			}
		})
		if failed < 20 {
			t.Errorf("%s: %d deploys failed", mode, failed)
		}
	}
}

// TestCopiesAreDurableBeforeTransaction checks the order of operations: the marker is durable before any copy exists, and all copies and
// their directories before the transaction begins, whose record refers to them.
func TestCopiesAreDurableBeforeTransaction(t *testing.T) {
	h := newHome(t, nil)
	h.deploy(map[string]string{"codex:.codex/prompts/a.md": "first"})
	h.now = h.now.Add(time.Minute)
	request, d, f := h.plan(map[string]string{"codex:.codex/prompts/a.md": "second", "codex:.codex/prompts/b.md": "new"}), h.deployer(), &faultfs.FS{FS: h.fs}
	d.FS = f
	id, err := d.Apply(request)
	if err != nil {
		t.Fatal(err)
	}
	copies := filepath.Join(d.Env.SnapshotDir(), id) + "/"
	volatile, copied := map[string]bool{}, 0 // files and directories that are not synced
	for _, operation := range f.Operations() {
		kind, path, _ := strings.Cut(operation, " /")
		path = "/" + path
		if strings.HasPrefix(path, d.Applier().Dir) {
			if len(volatile) > 0 || copied < 4 {
				t.Errorf("the transaction begins after %d copies with %v not synced", copied, volatile)
			}
			return
		}
		if strings.HasPrefix(path, copies) && volatile[d.Env.SnapshotDir()] {
			t.Errorf("%s, although the marker is not durable", operation)
		}
		switch kind {
		case "create":
			if strings.HasPrefix(path, copies) {
				copied++
			}
			volatile[path], volatile[filepath.Dir(path)] = true, true
		case "mkdir":
			volatile[path], volatile[filepath.Dir(path)] = true, true
		case "write", "chmod":
			volatile[path] = true
		case "sync", "sync directory":
			delete(volatile, path)
		}
	}
	t.Error("there was no transaction")
}

// keepsBelow is a file system in which nothing can be removed from the directories in a directory.
type keepsBelow struct {
	filesystem.OS
	dir string
}

func (f keepsBelow) Remove(path string) error {
	if strings.HasPrefix(filepath.Dir(path), f.dir+"/") {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrPermission}
	}
	return f.OS.Remove(path)
}

// TestRecoverReportsRollbackIfCopiesRemain kills deploys. The changes are rolled back once, so the user must hear of it from that call of
// Recover, also if it cannot remove the copies.
func TestRecoverReportsRollbackIfCopiesRemain(t *testing.T) {
	rolledBack := 0
	faultfs.Each(filesystem.OS{}, faultfs.KillBefore, func(f *faultfs.FS) {
		h := newHome(t, nil)
		d := h.deployer()
		d.FS = f
		_, _ = d.Apply(h.plan(map[string]string{"codex:.codex/prompts/a.md": "a"})) // ends at the operation f.At
		d = h.deployer()
		if pending, err := d.Applier().Pending(); err != nil || !pending {
			return
		}
		d.FS = keepsBelow{dir: d.Env.SnapshotDir()}
		note, err := d.Recover()
		pending, pendingErr := d.Applier().Pending()
		if err == nil || pending || pendingErr != nil {
			return // there were no copies, or the transaction has not been recovered yet
		}
		rolledBack++
		if note == "" {
			t.Errorf("kill at operation %d: no note, and the error %v", f.At, err)
		}
	})
	if rolledBack == 0 {
		t.Error("no transaction was recovered without its copies being removed")
	}
}

// TestExtraChangesAreAtomicWithDeploy kills a deploy at each write. After Recover, the file of Request.Extra is written
// if and only if the deploy is complete.
func TestExtraChangesAreAtomicWithDeploy(t *testing.T) {
	undone, finished := 0, 0
	for n := 1; ; n++ {
		h := newHome(t, map[string]string{"own/list": "old"})
		h.deploy(map[string]string{"codex:.codex/prompts/a.md": "a"})
		request := h.plan(map[string]string{"codex:.codex/prompts/a.md": "new"})
		request.Extra = []transaction.Change{{Root: h.at("own"), Path: h.at("own/list"), Before: digest.Hex([]byte("old")), After: []byte("with one more")}}
		d, f := h.deployer(), &faultfs.FS{FS: h.fs, Mode: faultfs.KillBefore, At: n}
		d.FS = f
		_, err := d.Apply(request)
		killed := f.Reached()
		if err != nil && !killed {
			t.Fatal(err)
		}
		if _, err := h.deployer().Recover(); err != nil {
			t.Fatal(err)
		}
		switch got := [2]string{h.files()[".codex/prompts/a.md"], h.files()["own/list"]}; got {
		case [2]string{"a", "old"}:
			undone++
		case [2]string{"new", "with one more"}:
			finished++
		default:
			t.Errorf("kill at change %d: Recover left %q", n, got)
		}
		if !killed {
			break
		}
	}
	if undone < 10 || finished < 2 {
		t.Errorf("rolled back %d times, completed %d times", undone, finished)
	}
}

// count returns the number of snapshots. It fails the test if a snapshot lacks its record or its directory.
func count(t *testing.T, h *home) int {
	t.Helper()
	all, err := deploy.ListSnapshots(h.deployer().Env.SnapshotDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, file := range s.Files {
			if s.Kind != deploy.KindDeploy {
				continue
			}
			if _, err := os.Stat((deploy.Layout{Dir: h.at(".agentpack/state/snapshots"), ID: s.ID}).State(file.Key())); err != nil {
				t.Error(err)
			}
		}
	}
	dirs, err := filepath.Glob(h.at(".agentpack/state/snapshots/*/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			if _, err := os.Stat(dir + ".json"); err != nil {
				t.Errorf("a snapshot has copies of files but no record: %v", err)
			}
		}
	}
	return len(all)
}
