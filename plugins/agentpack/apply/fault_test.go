package apply_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
)

var osFS = apply.OS{CopyMode: apply.CopyMode}

// scene returns a directory with every kind of change, and a journal directory beside it.
func scene(t testing.TB) (root string, a apply.Applier, changes []apply.Change, before, after map[string]string) {
	t.Helper()
	base := tree(t, map[string]string{
		"home/run.sh": "old run", "home/gone.md": "old gone",
		"home/real/linked.md": "old linked", "home/link.md": "-> real/linked.md",
		"home/dead-link.md": "-> real/kept.md", "home/real/kept.md": "kept", "home/private.md": "old private",
	})
	root = filepath.Join(base, "home")
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "private.md": 0o600, "gone.md": 0o640} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	change := func(name, before, after string) apply.Change {
		c := apply.Change{Root: root, Path: filepath.Join(root, name), After: []byte(after), Delete: after == ""}
		if before != "" {
			c.Before = sum(before)
		}
		return c
	}
	changes = []apply.Change{
		change("run.sh", "old run", "new run"),
		change("a/b/new.md", "", "new in new directories"),
		change("gone.md", "old gone", ""),
		change("link.md", "old linked", "new linked"),
		change("dead-link.md", "kept", ""),
		change("private.md", "old private", "new private"),
		change("real/new.md", "", "new in an old directory"),
		change("real/kept.md", "kept", "kept"), // unchanged content
	}
	before = look(t, root)
	after = look(t, root)
	for name, content := range map[string]string{
		"run.sh": "755 new run", "a/": "", "a/b/": "", "a/b/new.md": "644 new in new directories",
		"real/linked.md": "644 new linked", "private.md": "600 new private", "real/new.md": "644 new in an old directory",
	} {
		after[name] = content
	}
	for _, name := range []string{"gone.md", "dead-link.md"} {
		delete(after, name)
	}
	return root, apply.Applier{FS: osFS, Dir: filepath.Join(base, "state", "journal")}, changes, before, after
}

func TestApplyMakesAllChanges(t *testing.T) {
	for name, system := range map[string]apply.FS{"in memory": osFS, "on the disk": apply.OS{CopyMode: apply.CopyMode, Sync: true}} {
		t.Run(name, func(t *testing.T) {
			root, a, changes, _, after := scene(t)
			a.FS = system
			if err := a.Apply(changes); err != nil {
				t.Fatal(err)
			}
			same(t, root, after)
			noJournal(t, a)
		})
	}
}

// TestApplyRollsBackFailureAtAnyOperation makes each operation in turn fail. The result of Apply must agree
// with the disk; what Apply could not roll back, Recover must.
func TestApplyRollsBackFailureAtAnyOperation(t *testing.T) {
	for _, what := range []mishap{failsOnce, diskIsFull, failsFromOn} {
		t.Run(string(what), func(t *testing.T) {
			failures := 0
			for at := 1; ; at++ {
				root, a, changes, before, after := scene(t)
				broken := &faulty{FS: osFS, at: at, what: what}
				a.FS = broken
				err := a.Apply(changes)
				if broken.count < at {
					break
				}
				a.FS = osFS
				pending, pendingErr := a.Pending()
				if pendingErr != nil {
					t.Fatal(pendingErr)
				}
				if what == diskIsFull && pending {
					t.Errorf("operation %d: on a full disk the old state was not restored: %v", at, err)
				}
				if _, err := a.Recover(); err != nil {
					t.Fatalf("operation %d: recover: %v", at, err)
				}
				now := look(t, root)
				switch {
				case err == nil && !cmp.Equal(now, after):
					t.Errorf("operation %d: no error, but %s", at, cmp.Diff(after, now))
				case err != nil && !cmp.Equal(now, before) && !(pending && cmp.Equal(now, after)):
					t.Errorf("operation %d: %v, but %s", at, err, cmp.Diff(before, now))
				}
				if err != nil {
					failures++
				}
				noJournal(t, a)
			}
			if failures < 10 {
				t.Errorf("only %d operations could fail the apply", failures)
			}
		})
	}
}

// TestRecoverAfterKillAtAnyOperation kills Apply at each operation in turn. After Recover, all files have the
// old or all the new content.
func TestRecoverAfterKillAtAnyOperation(t *testing.T) {
	for _, what := range []mishap{killedFirst, killedMid, killedAfter} {
		t.Run(string(what), func(t *testing.T) {
			outcomes := map[apply.Outcome]int{}
			for at := 1; ; at++ {
				root, a, changes, before, after := scene(t)
				a.FS = &faulty{FS: osFS, at: at, what: what, changesOnly: true}
				if !survive(func() { _ = a.Apply(changes) }) {
					break
				}
				a.FS = osFS
				report, err := a.Recover()
				if err != nil || len(report.Kept) > 0 {
					t.Fatalf("operation %d: recover: %+v, %v", at, report, err)
				}
				outcomes[report.Outcome]++
				want := map[apply.Outcome]map[string]string{apply.None: before, apply.RolledBack: before, apply.Finished: after}[report.Outcome]
				now := look(t, root)
				if report.Outcome == apply.None && cmp.Equal(now, after) {
					want = after // killed after its last operation
				}
				if diff := cmp.Diff(want, now); diff != "" {
					t.Errorf("operation %d, %q: %s", at, report.Outcome, diff)
				}
				if report.Outcome != apply.None {
					noJournal(t, a)
				}
				if err := a.Apply(changes); err != nil && cmp.Equal(now, before) {
					t.Errorf("operation %d: the same apply again: %v", at, err)
				}
			}
			if outcomes[apply.RolledBack] < 10 || outcomes[apply.Finished] < 4 {
				t.Errorf("the outcomes were %v", outcomes)
			}
		})
	}
}

// granted hides one directory, as a sandbox does.
type granted struct {
	apply.FS
	without string
}

func (g granted) Lstat(path string) (fs.FileInfo, error) {
	if path == g.without || strings.HasPrefix(path, g.without+"/") {
		return nil, fs.ErrNotExist
	}
	return g.FS.Lstat(path)
}

func (g granted) Remove(path string) error {
	if _, err := g.Lstat(path); err != nil {
		return err
	}
	return g.FS.Remove(path)
}

func (g granted) CheckWritable(dir string) error {
	if strings.HasPrefix(g.without, dir+"/") {
		return fs.ErrPermission
	}
	return g.FS.CheckWritable(dir)
}

// TestRecoverWithHiddenDirectoryKeepsJournal kills Apply at each operation in turn, and recovers first where
// one directory is not granted, then where all are.
func TestRecoverWithHiddenDirectoryKeepsJournal(t *testing.T) {
	undone, finished := 0, 0
	for at := 1; ; at++ {
		root, a, changes, before, after := scene(t)
		a.FS = &faulty{FS: osFS, at: at, what: killedAfter, changesOnly: true}
		if !survive(func() { _ = a.Apply(changes) }) {
			break
		}
		killed := look(t, root)
		a.FS = osFS
		pending, err := a.Pending()
		if err != nil {
			t.Fatal(err)
		}
		a.FS = granted{osFS, filepath.Join(root, "real")}
		_, err = a.Recover()
		if (err != nil) != pending || pending && !strings.Contains(err.Error(), "cannot be reached") {
			t.Fatalf("operation %d: %v", at, err)
		}
		same(t, root, killed)
		a.FS = osFS
		report, err := a.Recover()
		if err != nil || len(report.Kept) > 0 {
			t.Fatalf("operation %d: recover: %+v, %v", at, report, err)
		}
		switch now := look(t, root); {
		case cmp.Equal(now, before):
			undone++
		case cmp.Equal(now, after):
			finished++
		default:
			t.Errorf("operation %d: %s", at, cmp.Diff(before, now))
		}
		noJournal(t, a)
	}
	if undone < 10 || finished < 2 {
		t.Errorf("undone %d times, finished %d times", undone, finished)
	}
}

// TestRecoverAfterKillOfRecover kills Apply at some operations, and Recover at each of its own.
func TestRecoverAfterKillOfRecover(t *testing.T) {
	recoveries := 0
	for first := 14; ; first += 6 {
		for second := 1; ; second++ {
			root, a, changes, before, after := scene(t)
			a.FS = &faulty{FS: osFS, at: first, what: killedAfter, changesOnly: true}
			if !survive(func() { _ = a.Apply(changes) }) {
				if recoveries < 30 {
					t.Errorf("only %d recoveries were killed", recoveries)
				}
				return
			}
			a.FS = &faulty{FS: osFS, at: second, what: killedAfter, changesOnly: true}
			if !survive(func() { _, _ = a.Recover() }) {
				break
			}
			recoveries++
			a.FS = osFS
			if _, err := a.Recover(); err != nil {
				t.Fatalf("killed at %d, then at %d: %v", first, second, err)
			}
			if now := look(t, root); !cmp.Equal(now, before) && !cmp.Equal(now, after) {
				t.Errorf("killed at %d, then at %d: %s", first, second, cmp.Diff(before, now))
			}
			noJournal(t, a)
		}
	}
}

// TestConcurrentEditIsNeverLost has another program change one of the files before each operation in turn,
// except the switch of this file: a change between the last check and the switch cannot be detected.
func TestConcurrentEditIsNeverLost(t *testing.T) {
	writes := func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o644) }
	replaces := func(path string) error { return errors.Join(writes(path+".theirs"), os.Rename(path+".theirs", path)) }
	cases := []struct {
		name, file string
		change     func(path string) error
	}{
		{"a file that is updated, written to", "run.sh", writes},
		{"a file that is updated, replaced", "run.sh", replaces},
		{"a file that is removed, replaced", "gone.md", replaces},
		{"a file written through a symbolic link", "real/linked.md", writes},
		{"a file that is made, made by another", "real/new.md", writes},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			ended := 0
			for at := 1; ; at++ {
				root, a, changes, before, after := scene(t)
				path, skipped := filepath.Join(root, test.file), false
				broken := &faulty{FS: osFS, at: at, what: hooked, hook: func(operation, to string) {
					if skipped = operation == "rename" && to == path; !skipped {
						if err := test.change(path); err != nil {
							t.Fatal(err)
						}
					}
				}}
				a.FS = broken
				err := a.Apply(changes)
				if broken.count < at {
					break
				}
				if skipped {
					continue
				}
				want := after
				if err != nil {
					ended++
					want = before
					if !errors.Is(err, apply.ErrChanged) {
						t.Errorf("operation %d: %v", at, err)
					}
				}
				theirs(t, at, test.file, look(t, root), want)
				noJournal(t, a)
			}
			if ended < 5 {
				t.Errorf("only %d changes ended the apply", ended)
			}
		})
	}
}

// theirs fails the test unless one file has the other program's content and all others are as wanted.
func theirs(t *testing.T, at int, name string, now, want map[string]string) {
	t.Helper()
	if !strings.HasSuffix(now[name], " theirs") {
		t.Errorf("operation %d: %s is %q", at, name, now[name])
	}
	for path := range now {
		if apply.IsTemporary(filepath.Base(path)) {
			delete(now, path) // the old content of a file that another program has changed
		}
	}
	delete(now, name)
	if diff := cmp.Diff(without(want, name), now); diff != "" {
		t.Errorf("operation %d: %s", at, diff)
	}
}

func without(files map[string]string, name string) map[string]string {
	rest := map[string]string{}
	for path, content := range files {
		if path != name {
			rest[path] = content
		}
	}
	return rest
}

// TestDirectoryReplacedBySymlinkIsNotWrittenThrough has another program replace a directory by a symbolic
// link to a copy outside the root, before each operation in turn. Operations that write are left out: a
// replacement between the check and the write cannot be detected.
func TestDirectoryReplacedBySymlinkIsNotWrittenThrough(t *testing.T) {
	ended := 0
	for at := 1; ; at++ {
		base := tree(t, map[string]string{
			"r/d/update": "old", "r/d/remove": "old", "outside/update": "old", "outside/remove": "old", "r/last": "old",
		})
		root, outside := filepath.Join(base, "r"), filepath.Join(base, "outside")
		before := look(t, outside)
		var changes []apply.Change
		for name, change := range map[string]apply.Change{
			"d/update": {Before: sum("old"), After: []byte("new")}, "d/remove": {Before: sum("old"), Delete: true}, "d/e/make": {After: []byte("new")},
		} {
			change.Root, change.Path = root, filepath.Join(root, name)
			changes = append(changes, change)
		}
		skipped := false
		system := &faulty{FS: osFS, at: at, what: hooked, hook: func(operation, to string) {
			if skipped = operation != "lstat" && operation != "read" && operation != "readdir"; !skipped {
				err := errors.Join(os.Rename(filepath.Join(root, "d"), filepath.Join(root, "moved")), os.Symlink("../outside", filepath.Join(root, "d")))
				if err != nil {
					t.Fatal(err)
				}
			}
		}}
		a := apply.Applier{FS: system, Dir: filepath.Join(base, "journal")}
		err := a.Apply(changes)
		if system.count < at {
			break
		}
		if skipped {
			continue
		}
		if err != nil {
			ended++
		}
		a.FS = osFS
		if _, err := a.Recover(); err != nil {
			t.Errorf("operation %d: recover: %v", at, err)
		}
		if diff := cmp.Diff(before, look(t, outside)); diff != "" {
			t.Errorf("operation %d: %v, outside: %s", at, err, diff)
		}
	}
	if ended < 10 {
		t.Errorf("only %d applies ended", ended)
	}
}
