//go:build unix

package refs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
)

const signature = "A <a@example.com> 1700000000 +0100"

// setHead makes HEAD refer to a commit, as git commit does.
func setHead(t *testing.T, dir string, commit plumbing.Hash, message string) error {
	t.Helper()
	h, err := refs.LockHead(t.Context(), gittest.Open(t, dir))
	if err != nil {
		return err
	}
	defer h.Release()
	return h.Set(commit, signature, message)
}

// Git makes the same change in a copy of the repository. Each file of the git directory must have the same content, except the index.
func TestHeadIsSetAsByGit(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo)
	}{
		{"a branch", func(*gittest.Repo) {}},
		{"a packed branch", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "pack-refs", "--all") }},
		{"a branch with slashes", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "-b", "a/b/c") }},
		{"a detached HEAD", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "--detach") }},
		{"an unborn branch", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "--orphan", "new/one") }},
		{"no reflogs", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.RemoveAll(r.Dot+"/logs"))
			gittest.Git(r.TB, r.Dir, "config", "core.logAllRefUpdates", "false")
		}},
		{"reflogs that are continued", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "config", "core.logAllRefUpdates", "no") }},
		{"an empty directory in the reflog's place", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.Remove(r.Dot+"/logs/refs/heads/main"))
			gittest.Mkdir(r.TB, r.Dot+"/logs/refs/heads/main")
		}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			c.arrange(r)
			next := gittest.Git(t, r.Dir, "commit-tree", "-p", "main", "-m", "next", "main^{tree}")
			other := filepath.Join(t.TempDir(), "copy")
			gittest.Must(t, os.CopyFS(other, os.DirFS(r.Dir)))
			const message = "commit: the  subject\tof it\n"
			gittest.Must(t, setHead(t, r.Dir, plumbing.NewHash(next), message))
			t.Setenv("GIT_COMMITTER_DATE", "1700000000 +0100")
			gittest.Git(t, other, "update-ref", "-m", message, "HEAD", next)
			got, want := gittest.Snapshot(t, r.Dot), gittest.Snapshot(t, other+"/.git")
			for name, content := range want {
				below := strings.TrimPrefix(name, other+"/.git")
				if below != "/index" && got[r.Dot+below] != content {
					t.Errorf("%s is %q, git writes %q", below, got[r.Dot+below], content)
				}
			}
			if len(got) != len(want) {
				t.Errorf("there are %d files, with git %d", len(got), len(want))
			}
			gittest.Git(t, r.Dir, "fsck", "--strict", "--no-dangling")
		})
	}
}

func TestLockHeadRefuses(t *testing.T) {
	cases := []struct {
		rule, why string
		arrange   func(*gittest.Repo)
	}{
		{"a locked HEAD", "HEAD.lock exists", func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/HEAD.lock", "") }},
		{"a locked branch", "main.lock exists", func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/refs/heads/main.lock", "") }},
		{"a HEAD on a file of the repository", "not a branch", func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/HEAD", "ref: refs/heads/../../hooks/pre-commit\n") }},
		{"a HEAD on a tag", "not a branch", func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/HEAD", "ref: refs/tags/v1\n") }},
		{"a HEAD that is a link", "HEAD is a symbolic link", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.Remove(r.Dot+"/HEAD"))
			gittest.Symlink(r.TB, "refs/heads/main", r.Dot+"/HEAD")
		}},
		{"a symbolic branch", "symbolic reference", func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/refs/heads/main", "ref: refs/heads/feature/x\n") }},
		{"a branch that is a link", "refs/heads/main is a symbolic link", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.Remove(r.Dot+"/refs/heads/main"))
			gittest.Symlink(r.TB, "feature/x", r.Dot+"/refs/heads/main")
		}},
		{"an unborn branch above another one", "begin with feature/", func(r *gittest.Repo) { r.SetHead("feature") }},
		{"a damaged branch", "is not a hash", func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/refs/heads/main", "x") }},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.Sample(t, t.TempDir())
			c.arrange(r)
			before := gittest.Snapshot(t, r.Dir)
			err := setHead(t, r.Dir, plumbing.NewHash(strings.Repeat("ab", 20)), "commit: x")
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error with %q", err, c.why)
			}
			if after := gittest.Snapshot(t, r.Dir); len(after) != len(before) {
				t.Errorf("files were created or removed: %d, before %d", len(after), len(before))
			}
		})
	}
}

// A reflog could be a link to a hook: what a module chooses as its message would be a line of that program.
func TestReflogIsNoLink(t *testing.T) {
	for rule, link := range map[string]func(*gittest.Repo){
		"a symbolic link": func(r *gittest.Repo) { gittest.Symlink(r.TB, "../hooks/pre-commit", r.Dot+"/logs/HEAD") },
		"a hard link":     func(r *gittest.Repo) { gittest.Must(r.TB, os.Link(r.Dot+"/hooks/pre-commit", r.Dot+"/logs/HEAD")) },
		"a link of its directory": func(r *gittest.Repo) {
			gittest.Must(r.TB, os.Remove(r.Dot+"/logs"))
			gittest.Mkdir(r.TB, r.Dot+"/hooks/refs/heads")
			gittest.Symlink(r.TB, "hooks", r.Dot+"/logs")
		},
	} {
		t.Run(rule, func(t *testing.T) {
			r := gittest.Sample(t, t.TempDir())
			gittest.Write(t, r.Dot+"/hooks/pre-commit", "#!/bin/sh\n")
			gittest.Mkdir(t, r.Dot+"/logs")
			link(r)
			before := gittest.Snapshot(t, r.Dir)
			if err := setHead(t, r.Dir, plumbing.NewHash(strings.Repeat("ab", 20)), "commit: x"); err == nil {
				t.Error("HEAD was set")
			}
			after := gittest.Snapshot(t, r.Dir)
			for name, content := range before {
				if after[name] != content {
					t.Errorf("%s was changed: %q", name, after[name])
				}
			}
		})
	}
}
