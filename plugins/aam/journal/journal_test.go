package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// TestMain has temporary directories created in memory if the system supports that, because the tests of this package
// create thousands of them.
func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}

// before is the content of the two roots before the transaction of a test.
var before = map[string]string{
	"project/.aam/lock":         "old lock",
	"project/.out/notes.md":     "by the user",
	"project/.out/skill/a.md":   "old a",
	"project/.out/skill/b/b.md": "old b",
	"project/.out/rule":         "old rule",
	"home/prompts/p.md":         "old prompt",
}

// after is the content of the two roots after the transaction of a test.
var after = map[string]string{
	"project/.aam/lock":         "new lock",
	"project/.out/notes.md":     "by the user, and more",
	"project/.out/skill/c.md":   "new c",
	"project/.out/x/y/fresh.md": "fresh",
	"home/prompts/p.md":         "new prompt",
	"home/skills/s/SKILL.md":    "skill",
}

func layOut(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range before {
		write(t, filepath.Join(root, name), content)
	}
	return root
}

func write(t *testing.T, path, content string) {
	t.Helper()
	testenv.WriteFile(t, path, content)
}

func open(s files.System, root string) journal.Journal {
	return journal.Journal{Files: s, Roots: []journal.Root{
		{Dir: filepath.Join(root, "project"), Stage: filepath.Join(root, "project", ".aam", ".tmp"), Only: []string{".aam", ".out"}},
		{Dir: filepath.Join(root, "home"), Stage: filepath.Join(root, "home", ".stage"), Only: []string{"prompts", "skills"}},
	}}
}

// change makes the transaction that turns the content before into the content after.
func change(j journal.Journal, root string) error {
	c, err := j.Begin()
	if err != nil {
		return err
	}
	if err := stage(c, j.Files, root); err != nil {
		return errors.Join(err, c.Abort())
	}
	return c.Commit()
}

func stage(c *journal.Change, s files.System, root string) error {
	at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	tree := func(file, content string) func(string) error {
		return func(staged string) error {
			if err := s.Mkdir(staged, 0o755); err != nil {
				return err
			}
			return files.Replace(s, filepath.Join(staged, file), []byte(content))
		}
	}
	return first(
		func() error { return c.Tree(at("project/.out/skill"), tree("c.md", "new c")) },
		func() error {
			return c.File(at("project/.out/notes.md"), []byte("by the user"), []byte("by the user, and more"))
		},
		func() error { return c.File(at("project/.out/x/y/fresh.md"), nil, []byte("fresh")) },
		func() error { return c.Remove(at("project/.out/rule")) },
		func() error { return c.Remove(at("project/.out/never-was")) },
		func() error { return c.File(at("home/prompts/p.md"), []byte("old prompt"), []byte("new prompt")) },
		func() error { return c.Tree(at("home/skills/s"), tree("SKILL.md", "skill")) },
		func() error { return c.File(at("project/.aam/lock"), []byte("old lock"), []byte("new lock")) },
	)
}

func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// read returns the content of all files below root. The result also contains empty directories.
func read(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.Type()&fs.ModeSymlink != 0 {
			found[name], err = os.Readlink(path)
			return err
		}
		if entry.IsDir() {
			if inside, err := os.ReadDir(path); err != nil || len(inside) > 0 {
				return err
			}
			found[name+"/"] = "empty"
			return nil
		}
		data, err := os.ReadFile(path)
		found[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCommit(t *testing.T) {
	root := layOut(t)
	notes := filepath.Join(root, "project", ".out", "notes.md")
	if err := os.Chmod(notes, 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(files.Disk{}, root)
	if err := change(j, root); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, read(t, root)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if info, err := os.Stat(notes); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a replaced file must keep its mode: got %v, %v", info.Mode(), err)
	}
}

// TestCommitRollsBackAfterFailureAtEachWrite repeats a transaction and lets another write fail each time. The
// transaction must be atomic.
func TestCommitRollsBackAfterFailureAtEachWrite(t *testing.T) {
	for n := 1; ; n++ {
		root := layOut(t)
		system := faults.New(n, false)
		err := change(open(system, root), root)
		if system.Count() < n {
			t.Logf("the transaction makes %d writes", n-1)
			return
		}
		if err == nil { // only the removal of staged files failed
			if err := open(files.Disk{}, root).Recover(); err != nil {
				t.Fatal(err)
			}
		}
		want := before
		if err == nil {
			want = after
		}
		if diff := cmp.Diff(want, read(t, root)); diff != "" {
			t.Fatalf("write %d fails with %v (-want +got)\n%s", n, err, diff)
		}
	}
}

// TestRecoverAfterKillAtEachWrite repeats a transaction and simulates the end of the process at another write each
// time. After Recover, the content of the roots must equal before or after.
func TestRecoverAfterKillAtEachWrite(t *testing.T) {
	committed := false
	for n := 1; ; n++ {
		root := layOut(t)
		system := faults.New(n, true)
		_ = change(open(system, root), root)
		if system.Count() < n {
			break
		}
		if err := open(files.Disk{}, root).Recover(); err != nil {
			t.Fatalf("kill at write %d: %v", n, err)
		}
		got := read(t, root)
		committed = committed || cmp.Equal(after, got)
		if want := map[bool]map[string]string{false: before, true: after}[committed]; !cmp.Equal(want, got) {
			t.Fatalf("the end at write %d (-want +got)\n%s", n, cmp.Diff(want, got))
		}
	}
	if !committed {
		t.Error("the test never simulated the end of the process after the commit")
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name string
		do   func(c *journal.Change, root string) error
	}{
		{"a path outside", func(c *journal.Change, root string) error { return c.Remove(filepath.Join(root, "other")) }},
		{"a path that is not named in Only", func(c *journal.Change, root string) error { return c.Remove(filepath.Join(root, "project", "src")) }},
		{"a path with .. out of the root", func(c *journal.Change, root string) error { return c.Remove(root + "/project/.out/../../other") }},
		{"the stage", func(c *journal.Change, root string) error {
			return c.Remove(filepath.Join(root, "project", ".aam", ".tmp", "x"))
		}},
		{"the parent of the stage", func(c *journal.Change, root string) error { return c.Remove(filepath.Join(root, "project", ".aam")) }},
		{"the same path twice", func(c *journal.Change, root string) error {
			path := filepath.Join(root, "project", ".out", "rule")
			return errors.Join(c.Remove(path), c.Remove(path))
		}},
		{"a file that was changed", func(c *journal.Change, root string) error {
			return c.File(filepath.Join(root, "project", ".out", "rule"), []byte("older rule"), []byte("new"))
		}},
		{"a file that grew", func(c *journal.Change, root string) error {
			return c.File(filepath.Join(root, "project", ".out", "rule"), []byte("old"), []byte("new"))
		}},
		{"a file created concurrently", func(c *journal.Change, root string) error {
			return c.File(filepath.Join(root, "project", ".out", "rule"), nil, []byte("new"))
		}},
		{"a file removed concurrently", func(c *journal.Change, root string) error {
			return c.File(filepath.Join(root, "project", ".out", "gone"), []byte("was"), []byte("new"))
		}},
		{"a symbolic link to a directory outside of Only", func(c *journal.Change, root string) error {
			dir := filepath.Join(root, "project", ".out", "link")
			if err := os.Symlink(filepath.Join("..", "src"), dir); err != nil {
				panic(err)
			}
			defer os.Remove(dir)
			return c.Remove(filepath.Join(dir, "main.go"))
		}},
		{"a directory that is a symbolic link out of the roots", func(c *journal.Change, root string) error {
			dir := filepath.Join(root, "project", ".out", "link")
			if err := os.Symlink(root, dir); err != nil {
				panic(err)
			}
			defer os.Remove(dir)
			return c.Remove(filepath.Join(dir, "other"))
		}},
		{"a directory in place of a file", func(c *journal.Change, root string) error {
			return c.File(filepath.Join(root, "project", ".out", "skill"), []byte("x"), []byte("new"))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := layOut(t)
			c, err := open(files.Disk{}, root).Begin()
			if err != nil {
				t.Fatal(err)
			}
			err = test.do(c, root)
			if err == nil {
				err = c.Commit()
			}
			if err == nil {
				t.Error("got no error")
			}
			if err := c.Abort(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, read(t, root)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRecover(t *testing.T) {
	tests := []struct {
		name, record string
		fails        bool
	}{
		{"leftovers without a record are removed", "", false},
		{"an invalid record is kept", "{", true},
		{"a record of a newer version is kept", `{"version":2}`, true},
		{"a record that removes a directory outside is refused", `{"version":1,"id":"0123456789abcdef","folders":["/tmp"],"steps":[]}`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := layOut(t)
			stage := filepath.Join(root, "project", ".aam", ".tmp")
			write(t, filepath.Join(stage, "partial-pkg", "aam.yaml"), "x")
			write(t, filepath.Join(root, "home", ".stage", "new.0"), "x")
			if test.record != "" {
				write(t, filepath.Join(stage, "switching.json"), test.record)
			}
			want := read(t, root)
			if !test.fails {
				want = before
			}
			j := open(files.Disk{}, root)
			if got := j.Interrupted(); got != (test.record != "") {
				t.Errorf("Interrupted: got %t", got)
			}
			if err := j.Recover(); (err != nil) != test.fails {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(want, read(t, root)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRecoverRefusesForgedLog(t *testing.T) {
	const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bcb2ecab06e3d6dbb3c1a" // no file in the test has this checksum
	for name, step := range map[string]string{
		"a path outside of the roots":           `{"root":"/etc","path":"/etc/passwd","before":"SUM","after":""}`,
		"a file of the user":                    `{"root":"PROJECT","path":"PROJECT/src/main.go","before":"SUM","after":""}`,
		"a move of a file of the user":          `{"root":"PROJECT","path":"PROJECT/.aam/.tmp/was.0","from":"PROJECT/src/main.go"}`,
		"a move between paths that may change":  `{"root":"PROJECT","path":"PROJECT/.out/new","from":"PROJECT/.out/rule"}`,
		"a move within the stage":               `{"root":"PROJECT","path":"PROJECT/.aam/.tmp/a","from":"PROJECT/.aam/.tmp/b"}`,
		"an unknown root":                       `{"root":"PROJECT/.out","path":"PROJECT/.out/rule","before":"SUM","after":""}`,
		"a step that removes directories":       `{"root":"PROJECT","path":"PROJECT/.out/rule","before":"SUM","after":"","prune":true}`,
		"a path behind a link out of the roots": `{"root":"PROJECT","path":"PROJECT/.out/link/passwd","before":"SUM","after":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			root := layOut(t)
			project := filepath.Join(root, "project")
			write(t, filepath.Join(project, "src", "main.go"), "mine")
			if err := os.Symlink("/etc", filepath.Join(project, ".out", "link")); err != nil {
				t.Fatal(err)
			}
			log := `{"version":1,"id":"0123456789abcdef","folders":[],"steps":[` + step + `]}`
			for _, state := range []string{"staging.json", "switching.json", "committed.json"} {
				path := filepath.Join(project, ".aam", ".tmp", state)
				write(t, path, strings.NewReplacer("PROJECT", project, "SUM", sum).Replace(log))
				want := read(t, root)
				if err := open(files.Disk{}, root).Recover(); err == nil || !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: got %v", state, err)
				}
				if diff := cmp.Diff(want, read(t, root)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", state, diff)
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestRecoverRefusesStageBehindSymlink(t *testing.T) {
	for name, target := range map[string]string{".aam": ".", ".aam/.tmp": "../keep"} {
		root := t.TempDir()
		write(t, filepath.Join(root, "project", "keep", "mine"), "x")
		write(t, filepath.Join(root, "project", ".tmp", "mine"), "x")
		link := filepath.Join(root, "project", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(target, link)); err != nil {
			t.Fatal(err)
		}
		want := read(t, root)
		if _, err := open(files.Disk{}, root).Begin(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: got %v", name, err)
		}
		if diff := cmp.Diff(want, read(t, root)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestCommitKeepsFileCreatedConcurrently checks that a file that another program creates during the transaction is not
// removed.
func TestCommitKeepsFileCreatedConcurrently(t *testing.T) {
	root := layOut(t)
	c, err := open(files.Disk{}, root).Begin()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "project", ".out", "fresh")
	if err := errors.Join(c.Remove(filepath.Join(root, "project", ".out", "rule")), c.File(path, nil, []byte("ours"))); err != nil {
		t.Fatal(err)
	}
	write(t, path, "theirs")
	want := read(t, root)
	if err := c.Commit(); !errors.Is(err, journal.ErrChanged) {
		t.Errorf("got %v", err)
	}
	for name := range want {
		if strings.Contains(name, ".tmp/") {
			delete(want, name)
		}
	}
	if diff := cmp.Diff(want, read(t, root)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// FuzzRecover checks that Recover changes only paths that transactions may change, whatever the log contains.
func FuzzRecover(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":"0123456789abcdef","folders":["/y"],"steps":[{"root":"/","path":"../../z","before":"","after":""}]}`))
	f.Add([]byte(`{"version":1,"id":"0123456789abcdef","steps":[{"root":"/","path":"/x","from":"/y"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := layOut(t)
		write(t, filepath.Join(root, "project", "src", "main.go"), "mine")
		for _, name := range []string{"staging.json", "switching.json", "committed.json"} {
			write(t, filepath.Join(root, "project", ".aam", ".tmp", name), string(data))
			_ = open(files.Disk{}, root).Recover()
			if got := read(t, root)["project/src/main.go"]; got != "mine" {
				t.Errorf("%s, a file of the user, was changed: %q", name, got)
			}
		}
	})
}

// watched is a file system that records which paths below one directory are accessed.
type watched struct {
	files.System
	folder string
	seen   *[]string
}

func (w watched) Lstat(path string) (fs.FileInfo, error) {
	if contain.Within(w.folder, path) {
		*w.seen = append(*w.seen, path)
	}
	return w.System.Lstat(path)
}

func TestRecoverDoesNotAccessAbsentRoot(t *testing.T) {
	root := layOut(t)
	if err := os.RemoveAll(filepath.Join(root, "home")); err != nil {
		t.Fatal(err)
	}
	var seen []string
	j := open(watched{files.Disk{}, filepath.Join(root, "home"), &seen}, root)
	if err := j.Recover(); err != nil {
		t.Fatal(err)
	}
	c, err := j.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Remove(filepath.Join(root, "project", ".out", "rule")), c.Commit()); err != nil || len(seen) > 0 {
		t.Errorf("%v; accessed paths: %q", err, seen)
	}
}
