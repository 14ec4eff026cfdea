package transaction_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// TestMain puts temporary directories into memory if the system supports that, since these tests create thousands of them.
func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noSync is the file system of the operating system without fsync, which is faster. Most tests do not simulate power failures.
type noSync struct{ filesystem.OS }

func (noSync) SyncDir(string) error { return nil }

func (o noSync) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := o.OS.Create(path, mode)
	if err != nil {
		return nil, err
	}
	return noSyncFile{file}, nil
}

type noSyncFile struct{ filesystem.File }

func (noSyncFile) Sync() error { return nil }

// tree creates a new directory with files, keyed by path, and returns the directory. A path that ends in a slash is a directory. If a
// content begins with "-> ", the file is a symbolic link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := directory(t)
	for name, content := range files {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			must(t, os.Symlink(target, path))
		} else {
			must(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
	return root
}

// directory returns the resolved path of an empty directory.
func directory(t testing.TB) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return path
}

// look returns the entries below a directory, keyed by path: the mode and the content of each file, and the target of each symbolic link.
func look(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		if entry.IsDir() {
			found[name+"/"] = ""
			return nil
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		found[name] = fmt.Sprintf("%o %s", info.Mode().Perm(), content)
		return err
	}))
	return found
}

func digest(content string) string { return transaction.Digest([]byte(content)) }

// same checks that the entries below root are equal to want.
func same(t testing.TB, root string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, look(t, root)); diff != "" {
		t.Errorf("below the root (-want +got)\n%s", diff)
	}
}

// noJournal fails the test if the journal's directory is not empty.
func noJournal(t testing.TB, l transaction.Log) {
	t.Helper()
	if entries, err := os.ReadDir(l.Dir); err == nil && len(entries) > 0 {
		t.Errorf("left in the journal's directory: %v", entries)
	}
}

// scene is a directory, changes of every kind to it, and a log outside of the directory.
type scene struct {
	root          string
	log           transaction.Log
	changes       []transaction.Change
	before, after map[string]string
}

// newScene creates a scene. If oneName is set, the file of the journal has the same name in all states of a transaction.
func newScene(t testing.TB, oneName bool) *scene {
	t.Helper()
	base := tree(t, map[string]string{
		"root/run.sh": "old run", "root/gone.md": "old gone", "root/private.md": "old private", "root/real/kept.md": "kept",
		"root/pruned/deep/last.md": "last", "root/active/file": "moved", "root/done/": "",
		"root/linked.md": "-> run.sh", "root/unlinked.md": "-> run.sh", "root/plain.md": "old plain",
	})
	s := &scene{root: filepath.Join(base, "root")}
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "private.md": 0o600, "gone.md": 0o640} {
		must(t, os.Chmod(filepath.Join(s.root, name), mode))
	}
	s.log = transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "state", "journal")}
	if oneName {
		s.log.Format = &transaction.Format{Staging: "lock", Switching: "lock", Committed: "lock"}
	}
	s.changes = []transaction.Change{
		s.change("run.sh", "old run", "new run"),
		s.change("a/b/new.md", "", "new in new directories"),
		s.change("gone.md", "old gone", ""),
		s.change("private.md", "old private", "new private"),
		s.change("real/new.md", "", "new in an old directory"),
		s.change("real/kept.md", "kept", "kept"), // a change that has no effect
		s.change("pruned/deep/last.md", "last", ""),
		s.replaceLink("linked.md", "new linked"), // its target is changed, too
		s.replaceLink("unlinked.md", ""),
		{Root: s.root, Path: s.at("plain.md"), Before: digest("old plain"), NoFollow: true, Link: "run.sh"},
		{Root: s.root, Path: s.at("done/dated"), From: s.at("active")},
	}
	s.changes[6].Prune = true
	s.before = look(t, s.root)
	s.after = map[string]string{
		"run.sh": "755 new run", "a/": "", "a/b/": "", "a/b/new.md": "644 new in new directories", "private.md": "600 new private",
		"real/": "", "real/kept.md": "644 kept", "real/new.md": "644 new in an old directory",
		"linked.md": "755 new linked", "plain.md": "-> run.sh",
		"done/": "", "done/dated/": "", "done/dated/file": "644 moved",
	}
	return s
}

func (s *scene) at(name string) string { return filepath.Join(s.root, name) }

func (s *scene) change(name, before, after string) transaction.Change {
	c := transaction.Change{Root: s.root, Path: s.at(name), After: []byte(after), Delete: after == ""}
	if before != "" {
		c.Before = digest(before)
	}
	return c
}

// replaceLink returns a change of a symbolic link to run.sh.
func (s *scene) replaceLink(name, after string) transaction.Change {
	c := s.change(name, "", after)
	c.Before, c.NoFollow = transaction.LinkDigest("run.sh"), true
	return c
}

// apply applies the changes of the scene on the given file system.
func (s *scene) apply(fsys filesystem.FS) error {
	l := s.log
	l.FS = fsys
	return l.Apply(s.changes)
}

// kill applies the changes of the scene in a process that is killed before the first operation on a path with the given last component.
func (s *scene) kill(t testing.TB, operation, base string) {
	t.Helper()
	f := &faultfs.FS{FS: noSync{}, Reads: true}
	f.Before = func(now, path string) {
		if now == operation && filepath.Base(path) == base && f.Mode == faultfs.Nothing {
			f.Mode, f.At = faultfs.KillBefore, f.Count()
		}
	}
	_ = s.apply(f)
	if f.Mode == faultfs.Nothing {
		t.Fatal("there is no such operation")
	}
}

// recover calls Recover of the scene's log, which must succeed.
func (s *scene) recover(t testing.TB) transaction.Report {
	t.Helper()
	report, err := s.log.Recover()
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	return report
}

// each calls run with a new scene for each operation. At that operation, a fault of the given mode is injected.
func each(t *testing.T, mode faultfs.Mode, run func(s *scene, f *faultfs.FS)) {
	for _, variant := range []struct{ oneName, noLinks bool }{{}, {oneName: true}, {noLinks: true}} {
		t.Run(fmt.Sprintf("%s, %+v", mode, variant), func(t *testing.T) {
			faultfs.Each(noSync{}, mode, func(f *faultfs.FS) {
				f.NoLinks = variant.noLinks
				run(newScene(t, variant.oneName), f)
			})
		})
	}
}

var errTest = errors.New("the error that the test returns")
