package apply_test

import (
	"io"
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

func TestApplyRefusesDifferentContentsForOneFile(t *testing.T) {
	base := testenv.Tree(t, map[string]string{"r/d/f": "old", "r/l": "-> d"})
	root := filepath.Join(base, "r")
	a := apply.New(filesystem.OS{}, filepath.Join(base, "journal"))
	change := func(name, after string) transaction.Change {
		return transaction.Change{Root: root, Path: filepath.Join(root, name), Before: sum("old"), After: []byte(after)}
	}
	if err := a.Apply([]transaction.Change{change("d/f", "one"), change("l/f", "two")}); err == nil || !strings.Contains(err.Error(), "two targets want different contents") {
		t.Errorf("got %v", err)
	}
	same(t, root, map[string]string{"d/": "", "d/f": "644 old", "l": "-> d"})
}

// sharedFS is a file system in which two paths are the same directory, without a symbolic link that shows this. A sandbox
// shows a granted directory that is a symbolic link in this way.
type sharedFS struct {
	filesystem.OS
	alias, dir string
}

func (f sharedFS) at(path string) string {
	if rest, ok := strings.CutPrefix(path, f.alias); ok {
		return f.dir + rest
	}
	return path
}

func (f sharedFS) Lstat(path string) (fs.FileInfo, error)    { return f.OS.Lstat(f.at(path)) }
func (f sharedFS) Stat(path string) (fs.FileInfo, error)     { return f.OS.Stat(f.at(path)) }
func (f sharedFS) Open(path string) (io.ReadCloser, error)   { return f.OS.Open(f.at(path)) }
func (f sharedFS) Mkdir(path string, mode fs.FileMode) error { return f.OS.Mkdir(f.at(path), mode) }
func (f sharedFS) Link(from, to string) error                { return f.OS.Link(f.at(from), f.at(to)) }
func (f sharedFS) Rename(from, to string) error              { return f.OS.Rename(f.at(from), f.at(to)) }
func (f sharedFS) Remove(path string) error                  { return f.OS.Remove(f.at(path)) }
func (f sharedFS) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	return f.OS.Create(f.at(path), mode)
}
func (f sharedFS) CopyMode(from, to string) error { return f.OS.CopyMode(f.at(from), f.at(to)) }
func (f sharedFS) SyncDir(path string) error      { return f.OS.SyncDir(f.at(path)) }

// TestApplyWritesOnceInSharedDirectory has two roots that are the same directory, so that a file in both is the same file.
func TestApplyWritesOnceInSharedDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		first, second transaction.Change
		want          string
	}{
		"two new files":           {transaction.Change{After: []byte("new")}, transaction.Change{After: []byte("new")}, "new"},
		"two updates":             {transaction.Change{Before: sum("old"), After: []byte("new")}, transaction.Change{Before: sum("old"), After: []byte("new")}, "new"},
		"two removals":            {transaction.Change{Before: sum("old"), Delete: true}, transaction.Change{Before: sum("old"), Delete: true}, ""},
		"an update and a removal": {transaction.Change{Before: sum("old"), After: []byte("new")}, transaction.Change{Before: sum("old"), Delete: true}, "new"},
		"a removal and an update": {transaction.Change{Before: sum("old"), Delete: true}, transaction.Change{Before: sum("old"), After: []byte("new")}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			base := testenv.Tree(t, map[string]string{"r/": ""})
			if c.first.Before != "" {
				testenv.WriteFile(t, filepath.Join(base, "r/s/f"), "old")
			}
			fsys := sharedFS{alias: filepath.Join(base, "alias"), dir: filepath.Join(base, "r")}
			c.first.Root, c.first.Path = fsys.dir, filepath.Join(fsys.dir, "s/f")
			c.second.Root, c.second.Path = fsys.alias, filepath.Join(fsys.alias, "s/f")
			a := apply.New(fsys, filepath.Join(base, "journal"))
			if err := a.Apply([]transaction.Change{c.first, c.second}); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"s/": ""}
			if c.want != "" {
				want["s/f"] = "644 " + c.want
			}
			same(t, fsys.dir, want)
		})
	}
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

// TestSymbolicLinksAfterKillAtAnyOperation replaces a symbolic link and its target, and removes another link, which must
// keep its target. After a kill at any operation and a Recover, either all files are
// old or all are new.
func TestSymbolicLinksAfterKillAtAnyOperation(t *testing.T) {
	faultfs.Each(filesystem.OS{}, faultfs.KillAfter, func(f *faultfs.FS) {
		root := testenv.Tree(t, map[string]string{
			"real/changed.md": "old", "changed.md": "-> real/changed.md", "real/kept.md": "kept", "removed.md": "-> real/kept.md",
		})
		before := look(t, root)
		a := apply.New(f, filepath.Join(t.TempDir(), "journal"))
		err := a.Apply([]transaction.Change{
			{Root: root, Path: filepath.Join(root, "real/changed.md"), Before: sum("old"), After: []byte("new target")},
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
		after := map[string]string{"real/": "", "real/changed.md": "644 new target", "changed.md": "644 new", "real/kept.md": "644 kept"}
		if now := look(t, root); !cmp.Equal(now, after) && (err == nil || !cmp.Equal(now, before)) {
			t.Errorf("after a kill at operation %d: %v, %s", f.At, err, cmp.Diff(after, now))
		}
		noJournal(t, a)
	})
}
