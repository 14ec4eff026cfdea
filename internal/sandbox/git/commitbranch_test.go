package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestCommitBranch(t *testing.T) {
	base := map[string]string{"notes.txt": "100644 main", "empty.txt": "100644 ", "run.sh": "100755 #!/bin/sh",
		"link": "120000 notes.txt", "dir/deep.txt": "100644 deep"}
	with := func(changes ...string) map[string]string {
		all := map[string]string{}
		for k, v := range base {
			all[k] = v
		}
		for i := 0; i < len(changes); i += 2 {
			if all[changes[i]] = changes[i+1]; changes[i+1] == "" {
				delete(all, changes[i])
			}
		}
		return all
	}
	cases := []struct {
		rule    string
		changes []abi.GitChange
		want    map[string]string
	}{
		{"a file is changed", []abi.GitChange{gittest.Text("notes.txt", "new\n")}, with("notes.txt", "100644 new")},
		{"a file is added", []abi.GitChange{gittest.Text("a.txt", "a\n")}, with("a.txt", "100644 a")},
		{"a file is added in new directories", []abi.GitChange{gittest.Text("x/y/z.txt", "z")}, with("x/y/z.txt", "100644 z")},
		{"a file is added in a directory", []abi.GitChange{gittest.Text("dir/a.txt", "a")}, with("dir/a.txt", "100644 a")},
		{"a directory and a file that sort apart", []abi.GitChange{gittest.Text("a.b", "1"), gittest.Text("a/b", "2"), gittest.Text("a0", "3")},
			with("a.b", "100644 1", "a/b", "100644 2", "a0", "100644 3")},
		{"an executable stays one", []abi.GitChange{gittest.Text("run.sh", "#!/bin/bash")}, with("run.sh", "100755 #!/bin/bash")},
		{"a mode can be given", []abi.GitChange{{Path: "notes.txt", Content: []byte("main\n"), Mode: "100755"}}, with("notes.txt", "100755 main")},
		{"a mode can be removed", []abi.GitChange{{Path: "run.sh", Content: []byte("x"), Mode: "100644"}}, with("run.sh", "100644 x")},
		{"a file is deleted", []abi.GitChange{{Path: "notes.txt", Deleted: true}}, with("notes.txt", "")},
		{"with a directory's last file it goes", []abi.GitChange{{Path: "dir/deep.txt", Deleted: true}}, with("dir/deep.txt", "")},
		{"a file becomes a directory", []abi.GitChange{{Path: "notes.txt", Deleted: true}, gittest.Text("notes.txt/a", "a")}, with("notes.txt", "", "notes.txt/a", "100644 a")},
		{"a directory becomes a file", []abi.GitChange{gittest.Text("dir", "d"), {Path: "dir/deep.txt", Deleted: true}}, with("dir/deep.txt", "", "dir", "100644 d")},
		{"an empty file", []abi.GitChange{gittest.Text("e", "")}, with("e", "100644 ")},
		{"names that git quotes", []abi.GitChange{gittest.Text("ü b", "x")}, with(`"\303\274 b"`, "100644 x")},
	}
	for n, layout := range []string{"loose", "packed"} {
		for i, c := range cases {
			if i%2 != n && testing.Short() && !testenv.IsAll() {
				continue // each case has one layout
			}
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				r := gittest.GitSample(t)
				if layout == "packed" {
					gittest.Git(t, r.Dir, "gc", "--quiet")
				}
				before := gittest.Snapshot(t, r.Dir)
				done, err := gittest.Writer(r.Dir).CommitBranch(t.Context(), gittest.NewCommit(r, c.changes...))
				if err != nil {
					t.Fatal(err)
				}
				after := gittest.Snapshot(t, r.Dir)
				for name, content := range before {
					if after[name] != content {
						t.Errorf("%s has changed: %q", name, after[name])
					}
				}
				if diff := cmp.Diff(c.want, r.BranchFiles("new")); diff != "" {
					t.Error(diff)
				}
				gittest.Git(t, r.Dir, "fsck", "--strict", "--full", "--no-dangling")
				want := "Some One <one@example.com> 1700000000 +0100\nSome One <one@example.com> 1700000000 +0100\npropose\n\nbody"
				if got := gittest.Git(t, r.Dir, "log", "-1", "--date=raw", "--format=%an <%ae> %ad%n%cn <%ce> %cd%n%B", "new"); got != want {
					t.Errorf("the log says %q, want %q", got, want)
				}
				if got := gittest.Git(t, r.Dir, "rev-parse", "new", "new^", "main"); got != done.Commit+"\n"+done.Parent+"\n"+done.Parent {
					t.Errorf("git has %q, the answer was %+v", got, done)
				}
				if got := gittest.Git(t, r.Dir, "status", "--porcelain"); got != "" {
					t.Errorf("the working tree is no longer clean: %s", got)
				}
				for name := range gittest.Snapshot(t, r.Dir) {
					if _, old := before[name]; !old && !strings.HasPrefix(name, r.Dot+"/objects/") && name != r.Dot+"/refs/heads/new" {
						t.Errorf("%s was created", name)
					}
				}
			})
		}
	}
}

func TestCommitBranchRefuses(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo, *abi.GitNewCommit)
		code    string
		why     string
	}{
		{"a branch that exists", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Branch = "feature/x" }, abi.HostFailed, "already exists"},
		{"a packed branch that exists", func(r *gittest.Repo, q *abi.GitNewCommit) {
			q.Branch = "feature/x"
			gittest.Must(r.TB, r.Store.PackRefs())
		}, abi.HostFailed, "already exists"},
		{"the branch that HEAD is on", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Branch = "main" }, abi.HostFailed, "current branch"},
		{"the unborn branch that HEAD is on", func(r *gittest.Repo, q *abi.GitNewCommit) {
			r.SetHead("unborn")
			q.Branch, q.Base = "unborn", "main"
		}, abi.HostFailed, "current branch"},
		{"a branch below another", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Branch = "main/x" }, abi.HostFailed, "a prefix of this name"},
		{"a branch below a packed one", func(r *gittest.Repo, q *abi.GitNewCommit) {
			q.Branch = "main/x"
			gittest.Must(r.TB, r.Store.PackRefs())
		}, abi.HostFailed, "conflicts with the branch main"},
		{"a branch above another", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Branch = "feature" }, abi.HostFailed, "begin with feature/"},
		{"a branch above a packed one", func(r *gittest.Repo, q *abi.GitNewCommit) {
			q.Branch = "feature"
			gittest.Must(r.TB, r.Store.PackRefs())
		}, abi.HostFailed, "conflicts with the branch feature/x"},
		{"a branch that is locked", func(r *gittest.Repo, _ *abi.GitNewCommit) { gittest.Write(r.TB, r.Dot+"/refs/heads/new.lock", "") }, abi.HostFailed, "new.lock exists"},
		{"a dangling link in the branch's place", func(r *gittest.Repo, _ *abi.GitNewCommit) {
			gittest.Symlink(r.TB, "nothing", r.Dot+"/refs/heads/new")
		}, abi.HostFailed, "already exists"},
		{"a base that does not exist", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Base = "nope" }, abi.HostFailed, "the branch nope has no commit"},
		{"an unborn HEAD", func(r *gittest.Repo, _ *abi.GitNewCommit) { r.SetHead("unborn") }, abi.HostFailed, "HEAD has no commit"},
		{"a shared repository", func(r *gittest.Repo, _ *abi.GitNewCommit) {
			gittest.Write(r.TB, r.Dot+"/config", "[core]\n\trepositoryformatversion = 0\n\tsharedRepository = group\n")
		}, abi.HostFailed, `core.sharedRepository is "group"`},
		{"no repository", func(r *gittest.Repo, _ *abi.GitNewCommit) { gittest.Must(r.TB, os.RemoveAll(r.Dot)) }, abi.HostFailed, "no git repository"},
		{"an unchanged file", func(_ *gittest.Repo, q *abi.GitNewCommit) {
			q.Changes = []abi.GitChange{gittest.Text("notes.txt", "main\n")}
		}, abi.HostFailed, "nothing to commit"},
		{"a file to delete that does not exist", changed(abi.GitChange{Path: "nope", Deleted: true}), abi.HostFailed, "cannot be deleted"},
		{"a directory to delete", changed(abi.GitChange{Path: "dir", Deleted: true}), abi.HostFailed, "cannot be deleted"},
		{"a file in a directory's place", changed(gittest.Text("dir", "x")), abi.HostFailed, "is a directory"},
		{"a file below a file", changed(gittest.Text("notes.txt/x", "x")), abi.HostFailed, "is a file, and cannot"},
		{"a file below a link", changed(gittest.Text("link/x", "x")), abi.HostFailed, "is a symbolic link, and cannot"},
		{"a file in a link's place", changed(gittest.Text("link", "x")), abi.HostFailed, "is a symbolic link"},
		{"a file in a submodule's place", changed(gittest.Text("sub", "x")), abi.HostFailed, "is a submodule"},
		{"two files of which one is the other's directory", changed(gittest.Text("a", "x"), gittest.Text("a/b", "y")), abi.HostFailed, "is a directory"},
		{"a file twice", changed(gittest.Text("a", "x"), gittest.Text("a", "y")), abi.HostInvalid, "two changes"},
		{"no file", changed(), abi.HostInvalid, "1 to 1000 files"},
		{"too many files", changed(make([]abi.GitChange, 1001)...), abi.HostInvalid, "1 to 1000 files"},
		{"too much content", changed(abi.GitChange{Path: "a", Content: make([]byte, 32<<20+1)}), abi.HostInvalid, "at most 33554432 bytes"},
		{"a mode of a link", changed(abi.GitChange{Path: "a", Mode: "120000"}), abi.HostInvalid, "mode"},
		{"a deleted file with content", changed(abi.GitChange{Path: "notes.txt", Deleted: true, Content: []byte("x")}), abi.HostInvalid, "a deleted file"},
		{"an empty message", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Message = " \n\n" }, abi.HostInvalid, "message"},
		{"a message with NUL", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Message = "a\x00b" }, abi.HostInvalid, "message"},
		{"a message that is not UTF-8", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Message = "a\xff" }, abi.HostInvalid, "message"},
		{"a branch that looks like a flag", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Branch = "--all" }, abi.HostInvalid, "branch"},
		{"a base that is an expression", func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Base = "main~1" }, abi.HostInvalid, "branch"},
		{"references that are a link out", func(r *gittest.Repo, _ *abi.GitNewCommit) {
			gittest.Must(r.TB, os.Rename(r.Dot+"/refs/heads", r.Dir+"/../heads"))
			gittest.Symlink(r.TB, "../../../heads", r.Dot+"/refs/heads")
		}, abi.HostDenied, "is a symbolic link to"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.Sample(t, filepath.Join(t.TempDir(), "repo"))
			q := gittest.NewCommit(r, gittest.Text("a.txt", "a"))
			c.arrange(r, &q)
			before := gittest.Snapshot(t, r.Dir)
			_, err := gittest.Writer(r.Dir).CommitBranch(t.Context(), q)
			if gittest.Code(err) != c.code || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v; want %s with %q", err, c.code, c.why)
			}
			if diff := cmp.Diff(before, gittest.Snapshot(t, r.Dir)); diff != "" {
				t.Errorf("the repository was changed: %s", diff)
			}
		})
	}
}

func changed(changes ...abi.GitChange) func(*gittest.Repo, *abi.GitNewCommit) {
	return func(_ *gittest.Repo, q *abi.GitNewCommit) { q.Changes = changes }
}

func TestCommitBranchNeedsWriteAccess(t *testing.T) {
	all := t.TempDir()
	r := gittest.Sample(t, all+"/repo")
	gittest.Mkdir(t, r.Dir+"/dir")
	cases := []struct {
		rule   string
		grants []git.Grant
		code   string
		why    string
	}{
		{"reading is not enough", []git.Grant{{Repo: r.Dir}}, abi.HostDenied, `access = "rw"`},
		{"no grant", nil, abi.HostDenied, "granted no repository"},
		{"another directory granted", []git.Grant{{Repo: all + "/other", Write: true}}, abi.HostDenied, "outside"},
		{"a directory in it granted to write", []git.Grant{{Repo: r.Dir}, {Repo: r.Dir + "/dir", Write: true}}, abi.HostDenied, `access = "rw"`},
		{"one of two grants", []git.Grant{{Repo: all}, {Repo: r.Dir, Write: true}}, "", ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			ops := gittest.NewOps(git.Config{Grants: c.grants, User: gittest.User(git.User{Identity: gittest.Someone})})
			_, err := ops.CommitBranch(t.Context(), gittest.NewCommit(r, gittest.Text("a", "a")))
			if gittest.Code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a worktree whose repository is outside of the grant", func(t *testing.T) {
		r := gittest.GitSample(t)
		tree := filepath.Join(t.TempDir(), "tree")
		gittest.Git(t, r.Dir, "worktree", "add", "--quiet", "-b", "other", tree)
		q := gittest.NewCommit(r, gittest.Text("a", "a"))
		q.Repo = tree
		if _, err := gittest.Writer(tree).CommitBranch(t.Context(), q); gittest.Code(err) != abi.HostDenied {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a worktree and its repository in one grant", func(t *testing.T) {
		all := t.TempDir()
		r := gittest.GitSample(t)
		gittest.Must(t, os.Rename(r.Dir, all+"/repo"))
		gittest.Git(t, all+"/repo", "worktree", "add", "--quiet", "-b", "other", all+"/tree")
		q := gittest.NewCommit(r, gittest.Text("a", "a"))
		q.Repo = all + "/tree"
		if _, err := gittest.Writer(all).CommitBranch(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, all+"/repo", "log", "new")
	})
}

func TestCommitIdentity(t *testing.T) {
	cases := []struct {
		rule, config string
		user         git.Identity
		want         string // the expected result; empty if the request is refused
	}{
		{"the user's own", "", gittest.Someone, "Some One <one@example.com>"},
		{"the repository's has precedence", "[user]\n\tname = R\n\temail = r@example.com\n", gittest.Someone, "R <r@example.com>"},
		{"each by itself", "[user]\n\temail = r@example.com\n", gittest.Someone, "Some One <r@example.com>"},
		{"characters that could forge a header are removed", "[user]\n\tname = \"a <x>\\nparent 0\"\n", gittest.Someone, "a xparent 0 <one@example.com>"},
		{"none", "", git.Identity{}, ""},
		{"no address", "[user]\n\tname = R\n", git.Identity{}, ""},
		{"no name", "[user]\n\temail = r@example.com\n", git.Identity{}, ""},
		{"a name of punctuation", "[user]\n\tname = \" . \"\n\temail = r@example.com\n", git.Identity{}, ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.Sample(t, t.TempDir())
			gittest.Write(t, r.Dot+"/config", c.config)
			before := gittest.Snapshot(t, r.Dir)
			ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir, Write: true}}, User: gittest.User(git.User{Identity: c.user})})
			done, err := ops.CommitBranch(t.Context(), gittest.NewCommit(r, gittest.Text("a", "a")))
			if c.want == "" {
				var host *abi.HostError
				if !errors.As(err, &host) || host.Code != abi.HostFailed || host.Reason != abi.ReasonNoIdentity ||
					!strings.Contains(host.Message, "git config --global user.name") {
					t.Errorf("got %#v", err)
				}
				if diff := cmp.Diff(before, gittest.Snapshot(t, r.Dir)); diff != "" {
					t.Error(diff)
				}
				return
			}
			gittest.Must(t, err)
			made := r.GetCommit(plumbing.NewHash(done.Commit))
			if got := made.Author.Name + " <" + made.Author.Email + ">"; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// If several concurrent calls create the same branch, exactly one succeeds. The errors of the others give the reason, and no lock file
// remains.
func TestConcurrentCommitsCreateBranchOnce(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	ops := gittest.Writer(r.Dir)
	var made sync.Map
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			done, err := ops.CommitBranch(t.Context(), gittest.NewCommit(r, gittest.Text("a", fmt.Sprint(i))))
			if err == nil {
				made.Store(done.Commit, true)
			} else if !strings.Contains(err.Error(), "already exists") && !strings.Contains(err.Error(), "new.lock exists") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	made.Range(func(hash, _ any) bool {
		n++
		got, err := ops.ResolveRef(t.Context(), abi.GitRef{Repo: r.Dir, Ref: "new"})
		if err != nil || got.Hash != hash {
			t.Errorf("the branch is at %v, %v; want %v", got, err, hash)
		}
		return true
	})
	if n != 1 {
		t.Errorf("the branch was created %d times", n)
	}
	if _, err := os.Stat(r.Dot + "/refs/heads/new.lock"); !os.IsNotExist(err) {
		t.Errorf("the lock remains: %v", err)
	}
}

func TestExistingObjectsAreNotRewritten(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	blob := r.Blob("kept\n").String()
	name := filepath.Join(r.Dot, "objects", blob[:2], blob[2:])
	before, err := os.ReadFile(name)
	gittest.Must(t, err)
	info, err := os.Stat(name)
	gittest.Must(t, err)
	_, err = gittest.Writer(r.Dir).CommitBranch(t.Context(), gittest.NewCommit(r, gittest.Text("a", "kept\n")))
	gittest.Must(t, err)
	after, err := os.ReadFile(name)
	gittest.Must(t, err)
	now, err := os.Stat(name)
	gittest.Must(t, err)
	if !bytes.Equal(before, after) || !os.SameFile(info, now) {
		t.Error("the object was rewritten")
	}
}

func TestHooksAndFiltersDoNotRun(t *testing.T) {
	r := gittest.GitSample(t)
	marker := filepath.Join(t.TempDir(), "ran")
	script := "#!/bin/sh\ntouch " + marker + "\n"
	for _, hook := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "reference-transaction", "post-index-change", "pre-auto-gc"} {
		gittest.Write(t, r.Dot+"/hooks/"+hook, script)
		gittest.Must(t, os.Chmod(r.Dot+"/hooks/"+hook, 0o755))
	}
	gittest.Write(t, r.Dir+"/fs.sh", script)
	gittest.Must(t, os.Chmod(r.Dir+"/fs.sh", 0o755))
	for key, value := range map[string]string{"core.fsmonitor": r.Dir + "/fs.sh", "commit.gpgSign": "true", "gpg.program": r.Dir + "/fs.sh",
		"filter.f.clean": r.Dir + "/fs.sh", "gc.auto": "1"} {
		gittest.Git(t, r.Dir, "config", key, value)
	}
	gittest.Write(t, r.Dir+"/.gitattributes", "* filter=f\n")
	ops := gittest.Writer(r.Dir)
	_, err := ops.CommitBranch(t.Context(), gittest.NewCommit(r, gittest.Text("a", "a")))
	gittest.Must(t, err)
	gittest.Write(t, r.Dir+"/notes.txt", "NEW!\n")
	_, err = ops.Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir})
	gittest.Must(t, err)
	if _, err := os.Stat(marker); !os.IsNotExist(err) {
		t.Errorf("a hook or filter ran: %v", err)
	}
}
