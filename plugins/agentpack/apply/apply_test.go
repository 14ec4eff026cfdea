package apply_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

func TestApplyRefusesInvalidChanges(t *testing.T) {
	cases := []struct {
		name   string
		files  map[string]string
		root   string       // below the test's directory
		path   string       // below the test's directory
		change apply.Change // without root and path
		want   string       // substring of the error
		is     error        // expected by errors.Is, if set
		code   fault.Code   // expected code, if set
	}{
		{name: "a file that is not as expected", files: map[string]string{"r/f": "theirs"}, root: "r", path: "r/f",
			change: apply.Change{Before: sum("ours"), After: []byte("new")}, is: apply.ErrChanged},
		{name: "an unexpected file", files: map[string]string{"r/f": "theirs"}, root: "r", path: "r/f",
			change: apply.Change{After: []byte("new")}, is: apply.ErrChanged},
		{name: "an unexpected file with the new content", files: map[string]string{"r/f": "new"}, root: "r", path: "r/f",
			change: apply.Change{After: []byte("new")}, is: apply.ErrChanged},
		{name: "a missing file", files: map[string]string{"r/": ""}, root: "r", path: "r/f",
			change: apply.Change{Before: sum("ours"), Delete: true}, is: apply.ErrChanged},
		{name: "a path outside of its root", files: map[string]string{"r/": ""}, root: "r", path: "f",
			change: apply.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "the root itself", files: map[string]string{"r/": ""}, root: "r", path: "r",
			change: apply.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a directory that is a link out of the root", files: map[string]string{"r/d": "-> ../out", "out/": ""}, root: "r", path: "r/d/f",
			change: apply.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a missing directory behind a link out of the root", files: map[string]string{"r/d": "-> ../out", "out/": ""}, root: "r", path: "r/d/e/f",
			change: apply.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a file that is a link out of the root", files: map[string]string{"r/f": "-> ../out", "out": "old"}, root: "r", path: "r/f",
			change: apply.Change{Before: sum("old"), After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a dangling symbolic link", files: map[string]string{"r/f": "-> nowhere"}, root: "r", path: "r/f",
			change: apply.Change{After: []byte("new")}, want: "is a dangling symbolic link: remove it"},
		{name: "a directory in the place of the file", files: map[string]string{"r/f/": ""}, root: "r", path: "r/f",
			change: apply.Change{After: []byte("new")}, want: "not a regular file"},
		{name: "a file in the place of the directory", files: map[string]string{"r/d": "x"}, root: "r", path: "r/d/f",
			change: apply.Change{After: []byte("new")}, want: "r/d is not a directory, but a directory is needed: remove it"},
		{name: "a name that a journal cannot hold", files: map[string]string{"r/": ""}, root: "r", path: "r/a\xff.md",
			change: apply.Change{After: []byte("new")}, want: "not UTF-8"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			base := tree(t, test.files)
			before := look(t, base)
			test.change.Root, test.change.Path = filepath.Join(base, test.root), filepath.Join(base, test.path)
			good := apply.Change{Root: base, Path: filepath.Join(base, "good/f"), After: []byte("good")}
			a := apply.Applier{FS: osFS, Dir: filepath.Join(t.TempDir(), "journal")}
			err := a.Apply([]apply.Change{good, test.change})
			switch {
			case err == nil:
				t.Error("no error")
			case test.is != nil && !errors.Is(err, test.is):
				t.Errorf("got %v, want %v", err, test.is)
			case test.code != "" && fault.Of(err).Code != test.code:
				t.Errorf("got %v (%s), want %s", err, fault.Of(err).Code, test.code)
			case !strings.Contains(err.Error(), test.want):
				t.Errorf("got %v, want …%s…", err, test.want)
			}
			same(t, base, before)
			noJournal(t, a)
		})
	}
}

// TestApplyRefusesJournalThatParseRefuses: a transaction that Recover could not read is not started.
func TestApplyRefusesJournalThatParseRefuses(t *testing.T) {
	base := tree(t, map[string]string{"r/": ""})
	root := filepath.Join(base, "r")
	var changes []apply.Change
	for i := range 100_001 {
		changes = append(changes, apply.Change{Root: root, Path: filepath.Join(root, strconv.Itoa(i))})
	}
	a := apply.Applier{FS: osFS, Dir: filepath.Join(base, "journal")}
	if err := a.Apply(changes); err == nil || !strings.Contains(err.Error(), "too many for one transaction") {
		t.Errorf("got %v", err)
	}
	same(t, base, map[string]string{"r/": ""})
}

func TestApplyRefusesDuplicatePath(t *testing.T) {
	base := tree(t, map[string]string{"r/f": "old", "r/l": "-> f"})
	root := filepath.Join(base, "r")
	a := apply.Applier{FS: osFS, Dir: filepath.Join(base, "journal")}
	change := func(name, after string) apply.Change {
		return apply.Change{Root: root, Path: filepath.Join(root, name), Before: sum("old"), After: []byte(after)}
	}
	if err := a.Apply([]apply.Change{change("f", "one"), change("l", "two")}); err == nil || !strings.Contains(err.Error(), "written twice") {
		t.Errorf("got %v", err)
	}
	same(t, root, map[string]string{"f": "644 old", "l": "-> f"})
}

func TestApplyResolvesAndCreatesDirectories(t *testing.T) {
	base := tree(t, map[string]string{
		"dotfiles/codex/real/": "", "dotfiles/codex/inner": "-> real", ".codex": "-> dotfiles/codex",
		"dotfiles/agentpack/": "", ".agentpack": "-> dotfiles/agentpack",
	})
	a := apply.Applier{FS: osFS, Dir: filepath.Join(base, ".agentpack/state/journal")}
	change := func(root, path string) apply.Change {
		return apply.Change{Root: filepath.Join(base, root), Path: filepath.Join(base, path), After: []byte("x")}
	}
	err := a.Apply([]apply.Change{
		change(".codex", ".codex/AGENTS.md"), change(".codex/prompts", ".codex/prompts/p.md"), change(".codex", ".codex/inner/i.md"),
		change(".agentpack/state/snapshots", ".agentpack/state/snapshots/1.json"),
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, filepath.Join(base, "dotfiles"), map[string]string{
		"codex/": "", "codex/AGENTS.md": "644 x", "codex/prompts/": "", "codex/prompts/p.md": "644 x",
		"codex/inner": "-> real", "codex/real/": "", "codex/real/i.md": "644 x",
		"agentpack/": "", "agentpack/state/": "", "agentpack/state/journal/": "", "agentpack/state/snapshots/": "", "agentpack/state/snapshots/1.json": "644 x",
	})
}

func TestApplyReportsUnwritableDirectoryAsFault(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("NOT TESTED: root may write everywhere")
	}
	base := tree(t, map[string]string{"r/": ""})
	root := filepath.Join(base, "r")
	if err := os.Chmod(root, 0o555); err != nil {
		t.Fatal(err)
	}
	a := apply.Applier{FS: osFS, Dir: filepath.Join(base, "journal")}
	refusedByTheSystem(t, a, root)
}

// deniedFS denies every write below a directory.
type deniedFS struct {
	apply.FS
	dir string
}

func (d deniedFS) WriteNew(path string, content []byte, like string) error {
	if strings.HasPrefix(path, d.dir) {
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return d.FS.WriteNew(path, content, like)
}

func TestApplyReportsPermissionErrorAsFault(t *testing.T) {
	base := tree(t, map[string]string{"r/": ""})
	root := filepath.Join(base, "r")
	refusedByTheSystem(t, apply.Applier{FS: deniedFS{osFS, root}, Dir: filepath.Join(base, "journal")}, root)
}

func refusedByTheSystem(t *testing.T, a apply.Applier, root string) {
	t.Helper()
	err := a.Apply([]apply.Change{{Root: root, Path: filepath.Join(root, "f"), After: []byte("x")}})
	refusal := fault.Of(err)
	if refusal.Code != fault.IOPermissionDenied || refusal.Details["path"] != filepath.Join(root, "f") || refusal.Details["path_posix"] == nil {
		t.Errorf("got %v, %+v", err, refusal)
	}
	noJournal(t, a)
}

// oneNameFS is a file system without hard links.
type oneNameFS struct{ apply.FS }

func (oneNameFS) Link(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: errors.ErrUnsupported}
}

func TestApplyWithoutHardLinks(t *testing.T) {
	for at := 1; ; at++ {
		root, a, changes, before, after := scene(t)
		broken := &faulty{FS: oneNameFS{osFS}, at: at, what: failsOnce, changesOnly: true}
		a.FS = broken
		err := a.Apply(changes)
		if broken.count < at { // no operation failed
			if err != nil {
				t.Error(err)
			}
			same(t, root, after)
			return
		}
		if _, err := a.Recover(); err != nil {
			t.Fatal(err)
		}
		want := before
		if err == nil {
			want = after
		}
		if diff := cmp.Diff(want, look(t, root)); diff != "" {
			t.Errorf("operation %d: %v, %s", at, err, diff)
		}
	}
}

// readOnlyFS refuses every change, including the removal of a file that does not exist.
type readOnlyFS struct{ apply.FS }

func (readOnlyFS) Remove(path string) error {
	return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrPermission}
}

func TestRecoverWithoutJournalChangesNothing(t *testing.T) {
	a := apply.Applier{FS: readOnlyFS{osFS}, Dir: filepath.Join(t.TempDir(), "none")}
	if report, err := a.Recover(); err != nil || report.Outcome != apply.None {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestApplyRefusesPendingTransaction(t *testing.T) {
	_, a, changes, _, _ := scene(t)
	a.FS = &faulty{FS: osFS, at: 12, what: killedAfter, changesOnly: true}
	if !survive(func() { _ = a.Apply(changes) }) {
		t.Fatal("not killed")
	}
	a.FS = osFS
	if err := a.Apply(changes); !errors.Is(err, apply.ErrPending) {
		t.Errorf("got %v", err)
	}
}

// TestRecoverKeepsConcurrentEdit kills an apply after the first switch; another program then edits the
// switched file.
func TestRecoverKeepsConcurrentEdit(t *testing.T) {
	edits := map[string]func(path string) error{
		"edited":  func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o644) },
		"removed": os.Remove,
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			root, a, before := killedAfterFirstSwitch(t)
			file := filepath.Join(root, "run.sh")
			if err := edit(file); err != nil {
				t.Fatal(err)
			}
			report, err := a.Recover()
			want := apply.Report{Outcome: apply.RolledBack, Kept: []string{file}}
			if diff := cmp.Diff(want, report); diff != "" || err != nil {
				t.Fatalf("%v %s", err, diff)
			}
			now := look(t, root)
			old := ""
			for path, content := range now {
				if apply.IsTemporary(filepath.Base(path)) {
					old = content
					delete(now, path)
				}
			}
			if old != "755 old run" {
				t.Errorf("the old content is %q", old)
			}
			delete(now, "run.sh")
			if diff := cmp.Diff(without(before, "run.sh"), now); diff != "" {
				t.Error(diff)
			}
			noJournal(t, a)
		})
	}
}

// killedAfterFirstSwitch returns a scene whose apply was killed when only run.sh had been switched.
func killedAfterFirstSwitch(t *testing.T) (root string, a apply.Applier, before map[string]string) {
	t.Helper()
	for at := 1; ; at++ {
		root, a, changes, before, _ := scene(t)
		a.FS = &faulty{FS: osFS, at: at, what: killedAfter, changesOnly: true}
		if !survive(func() { _ = a.Apply(changes) }) {
			t.Fatal("run.sh was never switched")
		}
		a.FS = osFS
		if content, err := os.ReadFile(filepath.Join(root, "run.sh")); err == nil && string(content) == "new run" {
			return root, a, before
		}
	}
}

func TestRecoverKeepsUnusableJournal(t *testing.T) {
	for _, raw := range []string{"", "{", `{"version":2}`, strings.Repeat("x", 100)} {
		dir := t.TempDir()
		file := filepath.Join(dir, "switching.json")
		if err := os.WriteFile(file, []byte(raw), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := (apply.Applier{FS: osFS, Dir: dir}).Recover()
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "then remove it") {
			t.Errorf("%q: %v", raw, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}
