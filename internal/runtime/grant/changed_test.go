//go:build unix

package grant

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestChangedNoticesReplacedDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"nothing":          {func(w *world) { w.must(os.WriteFile(w.path("project/a/docs/x"), nil, 0o600)) }, ""},
		"rm and mkdir":     {func(w *world) { w.must(os.RemoveAll(w.path("project/a/docs"))); w.dir("x"); w.dir("project/a/docs") }, "was replaced"},
		"removed":          {func(w *world) { w.must(os.RemoveAll(w.path("project/a"))) }, "no longer exists"},
		"moved":            {func(w *world) { w.must(os.Rename(w.path("project/a/docs"), w.path("project/old"))) }, "no longer exists"},
		"the parent moved": {func(w *world) { w.must(os.Rename(w.path("project/a"), w.path("project/b"))); w.dir("project/a/docs") }, "was replaced"},
		"a link": {func(w *world) {
			w.must(os.Rename(w.path("project/a/docs"), w.path("old")))
			w.link("../../old", "project/a/docs")
		}, "was replaced"},
		"a file": {func(w *world) {
			w.must(os.RemoveAll(w.path("project/a")))
			w.must(os.WriteFile(w.path("project/a"), nil, 0o600))
		}, "cannot be examined"},
		"a link of the user's to elsewhere": {func(w *world) { w.must(os.Remove(w.path("work"))); w.link("project", "work") }, "work was replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.dir("project/a/docs")
			w.dir("disk")
			w.link("disk", "work")
			w.grant(manifest.Read, "work", "/")
			w.grant(manifest.ReadWrite, "project/a/docs")
			s := w.resolve()
			w.unchanged(s)
			if c.change(w); c.want == "" {
				w.unchanged(s)
			} else {
				w.changed(s, c.want)
			}
		})
	}
}

// Examining a path is one system call.
func TestChangedExaminesEachPathOnce(t *testing.T) {
	w := newWorld(t)
	w.dir("disk")
	w.link("disk", "work")
	w.grant(manifest.Read, "project", "absent", "work")
	var got []string
	for _, one := range w.resolve().watched {
		got = append(got, strings.TrimPrefix(one.path, w.home))
	}
	if want := []string{"/project", "/absent", "/disk", "/work"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChangedNoticesGitCheckout(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	w := newWorld(t)
	run := func(arguments ...string) {
		t.Helper()
		c := exec.Command(git, append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"}, arguments...)...)
		c.Dir = w.project
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", arguments, err, out)
		}
	}
	run("init", "-q")
	run("commit", "-q", "--allow-empty", "-m", "empty")
	run("checkout", "-q", "-b", "docs")
	w.must(os.WriteFile(filepath.Join(w.dir("project/docs"), "a"), []byte("a"), 0o600))
	run("add", ".")
	run("commit", "-q", "-m", "docs")
	w.grant(manifest.ReadWrite, "project/docs")
	s := w.resolve()
	run("checkout", "-q", "main")
	w.changed(s, "no longer exists")
	absent := w.resolve()
	if !absent.Mounts[0].Absent {
		t.Errorf("got %+v", absent.Mounts[0])
	}
	run("checkout", "-q", "docs")
	w.changed(absent, "exists now")
	w.unchanged(w.resolve())
}

func BenchmarkChanged(b *testing.B) {
	w := newWorld(b)
	w.grant(manifest.ReadWrite, "project")
	s := w.resolve()
	for b.Loop() {
		if changed, what := s.Changed(); changed {
			b.Fatal(what)
		}
	}
}
