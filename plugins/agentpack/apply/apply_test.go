package apply_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

func TestApplyRefusesInvalidChanges(t *testing.T) {
	cases := []struct {
		name   string
		files  map[string]string
		root   string             // relative to the test's directory
		path   string             // relative to the test's directory
		change transaction.Change // the change without its root and path
		want   string             // a substring of the expected error
		code   fault.Code         // the expected fault code; "" if the test accepts any error
	}{
		{name: "a path outside of its root", files: map[string]string{"r/": ""}, root: "r", path: "f",
			change: transaction.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "the root itself", files: map[string]string{"r/": ""}, root: "r", path: "r",
			change: transaction.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a directory that is a link out of the root", files: map[string]string{"r/d": "-> ../out", "out/": ""}, root: "r", path: "r/d/f",
			change: transaction.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a missing directory behind a link out of the root", files: map[string]string{"r/d": "-> ../out", "out/": ""}, root: "r", path: "r/d/e/f",
			change: transaction.Change{After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a file that is a link out of the root", files: map[string]string{"r/f": "-> ../out", "out": "old"}, root: "r", path: "r/f",
			change: transaction.Change{Before: sum("old"), After: []byte("new")}, code: fault.IOInvalidPath},
		{name: "a name that a journal cannot hold", files: map[string]string{"r/": ""}, root: "r", path: "r/a\xff.md",
			change: transaction.Change{After: []byte("new")}, want: "not UTF-8"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			base := testenv.Tree(t, test.files)
			before := look(t, base)
			test.change.Root, test.change.Path = filepath.Join(base, test.root), filepath.Join(base, test.path)
			good := transaction.Change{Root: base, Path: filepath.Join(base, "good/f"), After: []byte("good")}
			a := apply.New(filesystem.OS{}, filepath.Join(t.TempDir(), "journal"))
			err := a.Apply([]transaction.Change{good, test.change})
			switch {
			case err == nil:
				t.Error("Apply returned no error")
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

func TestApplyRefusesDuplicatePath(t *testing.T) {
	base := testenv.Tree(t, map[string]string{"r/f": "old", "r/l": "-> f"})
	root := filepath.Join(base, "r")
	a := apply.New(filesystem.OS{}, filepath.Join(base, "journal"))
	change := func(name, after string) transaction.Change {
		return transaction.Change{Root: root, Path: filepath.Join(root, name), Before: sum("old"), After: []byte(after)}
	}
	if err := a.Apply([]transaction.Change{change("f", "one"), change("l", "two")}); err == nil || !strings.Contains(err.Error(), "two changes write") {
		t.Errorf("got %v", err)
	}
	same(t, root, map[string]string{"f": "644 old", "l": "-> f"})
}

func TestApplyResolvesAndCreatesDirectories(t *testing.T) {
	base := testenv.Tree(t, map[string]string{
		"dotfiles/codex/real/": "", "dotfiles/codex/inner": "-> real", ".codex": "-> dotfiles/codex",
		".agentpack": "-> dotfiles/agentpack", // a dangling symbolic link
	})
	a := apply.New(filesystem.OS{}, filepath.Join(base, ".agentpack/state/journal"))
	change := func(root, path string) transaction.Change {
		return transaction.Change{Root: filepath.Join(base, root), Path: filepath.Join(base, path), After: []byte("x")}
	}
	err := a.Apply([]transaction.Change{
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

// deniedFS is a file system that refuses to create files below one directory.
type deniedFS struct {
	filesystem.OS
	dir string
}

func (d deniedFS) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	if contain.Below(d.dir, path) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return d.OS.Create(path, mode)
}

func TestApplyReportsPermissionErrorAsFault(t *testing.T) {
	base := testenv.Tree(t, map[string]string{"r/": ""})
	root := filepath.Join(base, "r")
	a := apply.New(deniedFS{dir: root}, filepath.Join(base, "journal"))
	err := a.Apply([]transaction.Change{{Root: root, Path: filepath.Join(root, "f"), After: []byte("x")}})
	refusal := fault.Of(err)
	if refusal.Code != fault.IOPermissionDenied || refusal.Details["path"] != filepath.Join(root, "f") || refusal.Details["path_posix"] == nil {
		t.Errorf("got %v, %+v", err, refusal)
	}
	noJournal(t, a)
}

// TestSymbolicLinksAfterKillAtAnyOperation writes to a symbolic link, which must change the target of the link, and
// removes another link, which must keep its target. After a kill at any operation and a Recover, either all files are
// old or all are new.
func TestSymbolicLinksAfterKillAtAnyOperation(t *testing.T) {
	faultfs.Each(filesystem.OS{}, faultfs.KillAfter, func(f *faultfs.FS) {
		root := testenv.Tree(t, map[string]string{
			"real/changed.md": "old", "changed.md": "-> real/changed.md", "real/kept.md": "kept", "removed.md": "-> real/kept.md",
		})
		before := look(t, root)
		a := apply.New(f, filepath.Join(t.TempDir(), "journal"))
		err := a.Apply([]transaction.Change{
			{Root: root, Path: filepath.Join(root, "changed.md"), Before: sum("old"), After: []byte("new")},
			{Root: root, Path: filepath.Join(root, "removed.md"), Before: sum("kept"), Delete: true},
		})
		if err != nil && !f.Reached() {
			t.Fatal(err)
		}
		a.FS = filesystem.OS{}
		if _, err := a.Recover(); err != nil {
			t.Fatal(err)
		}
		after := map[string]string{"real/": "", "real/changed.md": "644 new", "changed.md": "-> real/changed.md", "real/kept.md": "644 kept"}
		if now := look(t, root); !cmp.Equal(now, after) && (err == nil || !cmp.Equal(now, before)) {
			t.Errorf("after a kill at operation %d: %v, %s", f.At, err, cmp.Diff(after, now))
		}
		noJournal(t, a)
	})
}
