//go:build unix

package repo_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// openRoot returns the root of a directory with files.
func openRoot(t *testing.T, files map[string]string) (*repo.Root, string) {
	t.Helper()
	dir := testenv.Tree(t, files)
	file, err := os.Open(dir)
	gittest.Must(t, err)
	t.Cleanup(func() { file.Close() })
	handle, err := beneath.New(file)
	gittest.Must(t, err)
	return repo.NewRoot(handle.Following(), dir, dir), dir
}

func TestRead(t *testing.T) {
	r, dir := openRoot(t, map[string]string{"f": "12345", "d/": "", "out": "-> /etc/passwd", "in": "-> f"})
	for name, c := range map[string]struct {
		file  string
		limit int64
		want  string
	}{
		"the whole bound": {"f", 5, ""}, "one byte more": {"f", 4, "larger than 4 bytes"}, "a link": {"in", 5, ""},
		"a directory": {"d", 5, "is a directory"}, "a link out": {"out", 5, "is a symbolic link to"}, "no file": {"x", 5, "no such file"},
	} {
		got, err := r.Read(c.file, c.limit)
		if c.want == "" && (string(got) != "12345" || err != nil) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := r.Read("out", 5); gittest.Code(err) != abi.HostDenied || !strings.Contains(err.Error(), dir+"/out") {
		t.Errorf("a link out: got %v", err)
	}
}

func TestCreate(t *testing.T) {
	r, dir := openRoot(t, map[string]string{"f": "old", "out": "-> ../out", "hop/out": "-> ../../other"})
	gittest.Must(t, r.Create("new", []byte("new"), 0o600))
	info, err := os.Stat(dir + "/new")
	if content, _ := os.ReadFile(dir + "/new"); err != nil || info.Mode() != 0o600 || string(content) != "new" {
		t.Errorf("got %v, %v", info, err)
	}
	if err := r.Create("f", []byte("new"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file: got %v", err)
	}
	for _, name := range []string{"out", "out/x", "hop/out/x"} {
		if err := r.Create(name, []byte("new"), 0o600); err == nil {
			t.Errorf("%s was created", name)
		}
	}
	if content, _ := os.ReadFile(dir + "/f"); string(content) != "old" {
		t.Errorf("f has %q", content)
	}
}

func TestStatAndIsDir(t *testing.T) {
	r, _ := openRoot(t, map[string]string{"f": "x", "d/g": "x", "in": "-> d", "out": "-> ../out", "loop": "-> loop"})
	for name, want := range map[string]bool{"f": false, "d": true, "in": true, "absent": false, "f/x": false, ".": true, strings.Repeat("n", 300): false} {
		if got, err := r.IsDir(name); got != want || err != nil {
			t.Errorf("%.20s: got %t, %v", name, got, err)
		}
	}
	if ok, err := r.IsDir("out"); ok || gittest.Code(err) != abi.HostDenied {
		t.Errorf("a link out: got %t, %v", ok, err)
	}
	if ok, err := r.IsDir("loop"); ok || !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a cycle: got %t, %v", ok, err)
	}
	if _, err := r.Stat("absent"); !repo.IsAbsent(err) {
		t.Errorf("got %v", err)
	}
}

func TestList(t *testing.T) {
	testenv.NotShort(t, "makes 65,537 files")
	r, dir := openRoot(t, map[string]string{"f": "x", "d/": ""})
	for _, name := range []string{"absent", "f", "d"} {
		if names, err := r.List(name); len(names) > 0 || err != nil {
			t.Errorf("%s: got %q, %v", name, names, err)
		}
	}
	for n := range 65_536 {
		gittest.Must(t, os.WriteFile(filepath.Join(dir, "d", fmt.Sprint(n)), nil, 0o600))
	}
	if names, err := r.List("d"); len(names) != 65_536 || err != nil {
		t.Errorf("got %d names, %v", len(names), err)
	}
	gittest.Write(t, dir+"/d/more", "")
	if _, err := r.List("d"); err == nil || !strings.Contains(err.Error(), "contains more than 65536 files") {
		t.Errorf("got %v", err)
	}
}

func TestPointersAreBounded(t *testing.T) {
	long := func(size int) string { return "gitdir: " + strings.Repeat("x/", (size-8)/2) }
	r, dir := openRoot(t, map[string]string{"at/.git": long(8192), "over/.git": long(8194)})
	for name, want := range map[string]string{"at": "not a git repository", "over": "larger than 8192 bytes"} {
		if _, err := r.Find(dir + "/" + name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %.100v, want %q", name, err, want)
		}
	}
}

// TestFiveLevelsOfAlternates are what git follows.
func TestFiveLevelsOfAlternates(t *testing.T) {
	for levels, want := range map[int]string{5: "", 6: "alternates are nested more than 5 levels deep"} {
		g := gittest.Sample(t, t.TempDir())
		at := g.Dot + "/objects"
		for n := range levels {
			next := fmt.Sprintf("%s/s%d", g.Dir, n)
			gittest.Write(t, at+"/info/alternates", next+"\n")
			at = next
		}
		gittest.Mkdir(t, at)
		err := gittest.HasBranch(g)(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d levels: got %v", levels, err)
		}
	}
}

func TestFindFile(t *testing.T) {
	r, dir := openRoot(t, map[string]string{"top/.git/HEAD": "ref: refs/heads/main\n", "top/.git/objects/": "", "top/.git/refs/": "", "top/a/f": "x", "bare/HEAD": "x", "half/.git/HEAD": "x"})
	for path, want := range map[string]string{"top/a/f": "top", "top/a/absent/x": "top", "top": "top", "bare/HEAD": "", "half/x": "", ".": ""} {
		found, err := r.FindFile(dir + "/" + path)
		if err != nil || (found == nil) != (want == "") || found != nil && found.Top != want {
			t.Errorf("%s: got %+v, %v", path, found, err)
		}
	}
	if found, err := r.Find(dir + "/top/a/f"); found != nil || err != nil {
		t.Errorf("a file is no directory: got %+v, %v", found, err)
	}
	if found, err := r.Find(dir + "/top/a"); found == nil || err != nil {
		t.Errorf("got %+v, %v", found, err)
	}
}
