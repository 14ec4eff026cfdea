package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

type contextT = context.Context

var contextCanceled = context.Canceled

var someone = git.Identity{Name: "Some One", Email: "one@example.com"}

// writer gives operations that may write.
func writer(dir string) *git.Ops {
	return newOps(git.Config{Grants: []git.Grant{{Repo: dir, Access: "rw"}}, User: git.User{Identity: someone},
		Now: func() time.Time { return time.Unix(1700000000, 5).In(time.FixedZone("", 3600)) }})
}

func newCommit(r *repo, changes ...abi.GitChange) abi.GitNewCommit {
	return abi.GitNewCommit{Repo: r.dir, Branch: "new", Message: "propose\n\nbody\n\n", Changes: changes}
}

func text(path, content string) abi.GitChange {
	return abi.GitChange{Path: path, Content: []byte(content)}
}

// files gives what a branch holds as `mode path content`, by the operations or by git.
func branchFiles(t *testing.T, r *repo, branch string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for line := range strings.Lines(program(t, r.dir, "ls-tree", "-r", branch)) {
		head, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words := strings.Fields(head)
		files[name] = words[0]
		if words[1] == "blob" {
			files[name] += " " + program(t, r.dir, "cat-file", "blob", words[2])
		}
	}
	return files
}

// snapshot is every file of a folder with its content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			all[name], err = os.Readlink(name)
			return err
		}
		data, err := os.ReadFile(name)
		all[name] = string(data)
		return err
	}))
	return all
}

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
		{"a file is changed", []abi.GitChange{text("notes.txt", "new\n")}, with("notes.txt", "100644 new")},
		{"a file is added", []abi.GitChange{text("a.txt", "a\n")}, with("a.txt", "100644 a")},
		{"a file is added in new folders", []abi.GitChange{text("x/y/z.txt", "z")}, with("x/y/z.txt", "100644 z")},
		{"a file is added in a folder", []abi.GitChange{text("dir/a.txt", "a")}, with("dir/a.txt", "100644 a")},
		{"a folder and a file that sort apart", []abi.GitChange{text("a.b", "1"), text("a/b", "2"), text("a0", "3")},
			with("a.b", "100644 1", "a/b", "100644 2", "a0", "100644 3")},
		{"an executable stays one", []abi.GitChange{text("run.sh", "#!/bin/bash")}, with("run.sh", "100755 #!/bin/bash")},
		{"a mode can be given", []abi.GitChange{{Path: "notes.txt", Content: []byte("main\n"), Mode: "100755"}}, with("notes.txt", "100755 main")},
		{"and taken", []abi.GitChange{{Path: "run.sh", Content: []byte("x"), Mode: "100644"}}, with("run.sh", "100644 x")},
		{"a file is deleted", []abi.GitChange{{Path: "notes.txt", Deleted: true}}, with("notes.txt", "")},
		{"with a folder's last file it goes", []abi.GitChange{{Path: "dir/deep.txt", Deleted: true}}, with("dir/deep.txt", "")},
		{"a file becomes a folder", []abi.GitChange{{Path: "notes.txt", Deleted: true}, text("notes.txt/a", "a")}, with("notes.txt", "", "notes.txt/a", "100644 a")},
		{"a folder becomes a file", []abi.GitChange{text("dir", "d"), {Path: "dir/deep.txt", Deleted: true}}, with("dir/deep.txt", "", "dir", "100644 d")},
		{"an empty file", []abi.GitChange{text("e", "")}, with("e", "100644 ")},
		{"names that git quotes", []abi.GitChange{text("ü b", "x")}, with(`"\303\274 b"`, "100644 x")},
	}
	for _, layout := range []string{"loose", "packed"} {
		for _, c := range cases {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				r := gitSample(t)
				if layout == "packed" {
					program(t, r.dir, "gc", "--quiet")
				}
				before := snapshot(t, r.dir)
				done, err := writer(r.dir).CommitBranch(t.Context(), newCommit(r, c.changes...))
				if err != nil {
					t.Fatal(err)
				}
				after := snapshot(t, r.dir)
				for name, content := range before {
					if after[name] != content {
						t.Errorf("%s is not what it was: %q", name, after[name])
					}
				}
				if diff := cmp.Diff(c.want, branchFiles(t, r, "new")); diff != "" {
					t.Error(diff)
				}
				program(t, r.dir, "fsck", "--strict", "--full", "--no-dangling")
				want := "Some One <one@example.com> 1700000000 +0100\nSome One <one@example.com> 1700000000 +0100\npropose\n\nbody"
				if got := program(t, r.dir, "log", "-1", "--date=raw", "--format=%an <%ae> %ad%n%cn <%ce> %cd%n%B", "new"); got != want {
					t.Errorf("the log says %q, want %q", got, want)
				}
				if got := program(t, r.dir, "rev-parse", "new", "new^", "main"); got != done.Commit+"\n"+done.Parent+"\n"+done.Parent {
					t.Errorf("git has %q, the answer was %+v", got, done)
				}
				if got := program(t, r.dir, "status", "--porcelain"); got != "" {
					t.Errorf("the working tree is no longer clean: %s", got)
				}
				for name := range snapshot(t, r.dir) {
					if _, old := before[name]; !old && !strings.HasPrefix(name, r.dot+"/objects/") && name != r.dot+"/refs/heads/new" {
						t.Errorf("%s was made", name)
					}
				}
			})
		}
	}
}

// gitSample is a repository as git makes it, with a clean working tree.
func gitSample(t testing.TB) *repo {
	t.Helper()
	dir := t.TempDir()
	program(t, dir, "init", "--quiet", "--initial-branch=main", ".")
	write(t, dir+"/notes.txt", "main\n")
	write(t, dir+"/empty.txt", "")
	write(t, dir+"/run.sh", "#!/bin/sh\n")
	must(t, os.Chmod(dir+"/run.sh", 0o755))
	write(t, dir+"/dir/deep.txt", "deep\n")
	symlink(t, "notes.txt", dir+"/link")
	program(t, dir, "add", ".")
	program(t, dir, "commit", "--quiet", "--message=first")
	return &repo{tb: t, dir: dir, dot: dir + "/.git"}
}

func TestCommitBranchRefuses(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(*repo, *abi.GitNewCommit)
		code    string
		why     string
	}{
		{"a branch that exists", func(_ *repo, q *abi.GitNewCommit) { q.Branch = "feature/x" }, abi.HostFailed, "exists already"},
		{"a packed branch that exists", func(r *repo, q *abi.GitNewCommit) {
			q.Branch = "feature/x"
			must(r.tb, r.st.PackRefs())
		}, abi.HostFailed, "exists already"},
		{"the branch that HEAD is on", func(_ *repo, q *abi.GitNewCommit) { q.Branch = "main" }, abi.HostFailed, "HEAD is on"},
		{"the unborn branch that HEAD is on", func(r *repo, q *abi.GitNewCommit) {
			r.setHead("unborn")
			q.Branch, q.Base = "unborn", "main"
		}, abi.HostFailed, "HEAD is on"},
		{"a branch below another", func(_ *repo, q *abi.GitNewCommit) { q.Branch = "main/x" }, abi.HostFailed, "beginning of this one"},
		{"a branch below a packed one", func(r *repo, q *abi.GitNewCommit) {
			q.Branch = "main/x"
			must(r.tb, r.st.PackRefs())
		}, abi.HostFailed, "there is the branch main"},
		{"a branch above another", func(_ *repo, q *abi.GitNewCommit) { q.Branch = "feature" }, abi.HostFailed, "begin with feature/"},
		{"a branch above a packed one", func(r *repo, q *abi.GitNewCommit) {
			q.Branch = "feature"
			must(r.tb, r.st.PackRefs())
		}, abi.HostFailed, "there is the branch feature/x"},
		{"a branch that is locked", func(r *repo, _ *abi.GitNewCommit) { write(r.tb, r.dot+"/refs/heads/new.lock", "") }, abi.HostFailed, "new.lock is there"},
		{"a link to nothing in the branch's place", func(r *repo, _ *abi.GitNewCommit) {
			symlink(r.tb, "nothing", r.dot+"/refs/heads/new")
		}, abi.HostFailed, "exists already"},
		{"a base that is not there", func(_ *repo, q *abi.GitNewCommit) { q.Base = "nope" }, abi.HostFailed, "the branch nope has no commit"},
		{"an unborn HEAD", func(r *repo, _ *abi.GitNewCommit) { r.setHead("unborn") }, abi.HostFailed, "HEAD has no commit"},
		{"no repository", func(r *repo, _ *abi.GitNewCommit) { must(r.tb, os.RemoveAll(r.dot)) }, abi.HostFailed, "no git repository"},
		{"a file that is so already", func(_ *repo, q *abi.GitNewCommit) { q.Changes = []abi.GitChange{text("notes.txt", "main\n")} }, abi.HostFailed, "nothing to commit"},
		{"a file to delete that is not there", changed(abi.GitChange{Path: "nope", Deleted: true}), abi.HostFailed, "no such file"},
		{"a folder to delete", changed(abi.GitChange{Path: "dir", Deleted: true}), abi.HostFailed, "no such file"},
		{"a file in a folder's place", changed(text("dir", "x")), abi.HostFailed, "is a folder"},
		{"a file below a file", changed(text("notes.txt/x", "x")), abi.HostFailed, "is a file, so nothing"},
		{"a file below a link", changed(text("link/x", "x")), abi.HostFailed, "is a symbolic link, so nothing"},
		{"a file in a link's place", changed(text("link", "x")), abi.HostFailed, "is a symbolic link"},
		{"a file in a submodule's place", changed(text("sub", "x")), abi.HostFailed, "is a submodule"},
		{"two files of which one is the other's folder", changed(text("a", "x"), text("a/b", "y")), abi.HostFailed, "is a folder"},
		{"a file twice", changed(text("a", "x"), text("a", "y")), abi.HostInvalid, "twice"},
		{"no file", changed(), abi.HostInvalid, "1 to 1000 files"},
		{"too many files", changed(make([]abi.GitChange, 1001)...), abi.HostInvalid, "1 to 1000 files"},
		{"too much content", changed(abi.GitChange{Path: "a", Content: make([]byte, 32<<20+1)}), abi.HostInvalid, "at most 33554432 bytes"},
		{"a mode of a link", changed(abi.GitChange{Path: "a", Mode: "120000"}), abi.HostInvalid, "mode"},
		{"a deleted file with content", changed(abi.GitChange{Path: "notes.txt", Deleted: true, Content: []byte("x")}), abi.HostInvalid, "to be deleted"},
		{"an empty message", func(_ *repo, q *abi.GitNewCommit) { q.Message = " \n\n" }, abi.HostInvalid, "message"},
		{"a message with NUL", func(_ *repo, q *abi.GitNewCommit) { q.Message = "a\x00b" }, abi.HostInvalid, "message"},
		{"a message that is not UTF-8", func(_ *repo, q *abi.GitNewCommit) { q.Message = "a\xff" }, abi.HostInvalid, "message"},
		{"a branch that looks like a flag", func(_ *repo, q *abi.GitNewCommit) { q.Branch = "--all" }, abi.HostInvalid, "branch"},
		{"a base that is an expression", func(_ *repo, q *abi.GitNewCommit) { q.Base = "main~1" }, abi.HostInvalid, "branch"},
		{"references that are a link out", func(r *repo, _ *abi.GitNewCommit) {
			must(r.tb, os.Rename(r.dot+"/refs/heads", r.dir+"/../heads"))
			symlink(r.tb, "../../../heads", r.dot+"/refs/heads")
		}, abi.HostDenied, "is a link to"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := sample(t, filepath.Join(t.TempDir(), "repo"))
			q := newCommit(r, text("a.txt", "a"))
			c.arrange(r, &q)
			before := snapshot(t, r.dir)
			_, err := writer(r.dir).CommitBranch(t.Context(), q)
			if code(err) != c.code || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v; want %s with %q", err, c.code, c.why)
			}
			if diff := cmp.Diff(before, snapshot(t, r.dir)); diff != "" {
				t.Errorf("something was written: %s", diff)
			}
		})
	}
}

func changed(changes ...abi.GitChange) func(*repo, *abi.GitNewCommit) {
	return func(_ *repo, q *abi.GitNewCommit) { q.Changes = changes }
}

func TestCommitBranchNeedsAGrantToWrite(t *testing.T) {
	all := t.TempDir()
	r := sample(t, all+"/repo")
	mkdir(t, r.dir+"/dir")
	cases := []struct {
		rule   string
		grants []git.Grant
		code   string
		why    string
	}{
		{"reading is not enough", []git.Grant{{Repo: r.dir, Access: "r"}}, abi.HostDenied, `access = "rw"`},
		{"nor is no access", []git.Grant{{Repo: r.dir}}, abi.HostDenied, `access = "rw"`},
		{"nothing granted", nil, abi.HostDenied, "granted no repository"},
		{"another folder granted", []git.Grant{{Repo: all + "/other", Access: "rw"}}, abi.HostDenied, "outside"},
		{"a folder in it granted to write", []git.Grant{{Repo: r.dir, Access: "r"}, {Repo: r.dir + "/dir", Access: "rw"}}, abi.HostDenied, `access = "rw"`},
		{"one of two grants", []git.Grant{{Repo: all, Access: "r"}, {Repo: r.dir, Access: "rw"}}, "", ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			ops := newOps(git.Config{Grants: c.grants, User: git.User{Identity: someone}})
			_, err := ops.CommitBranch(t.Context(), newCommit(r, text("a", "a")))
			if code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a worktree whose repository lies outside of the grant", func(t *testing.T) {
		r := gitSample(t)
		tree := filepath.Join(t.TempDir(), "tree")
		program(t, r.dir, "worktree", "add", "--quiet", "-b", "other", tree)
		q := newCommit(r, text("a", "a"))
		q.Repo = tree
		if _, err := writer(tree).CommitBranch(t.Context(), q); code(err) != abi.HostDenied {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a worktree and its repository in one grant", func(t *testing.T) {
		all := t.TempDir()
		r := gitSample(t)
		must(t, os.Rename(r.dir, all+"/repo"))
		program(t, all+"/repo", "worktree", "add", "--quiet", "-b", "other", all+"/tree")
		q := newCommit(r, text("a", "a"))
		q.Repo = all + "/tree"
		if _, err := writer(all).CommitBranch(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		program(t, all+"/repo", "log", "new")
	})
}

func TestCommitIdentity(t *testing.T) {
	cases := []struct {
		rule, config string
		user         git.Identity
		want         string // empty: refused
	}{
		{"the user's own", "", someone, "Some One <one@example.com>"},
		{"the repository's counts more", "[user]\n\tname = R\n\temail = r@example.com\n", someone, "R <r@example.com>"},
		{"each by itself", "[user]\n\temail = r@example.com\n", someone, "Some One <r@example.com>"},
		{"what would forge a header is taken out", "[user]\n\tname = \"a <x>\\nparent 0\"\n", someone, "a xparent 0 <one@example.com>"},
		{"none", "", git.Identity{}, ""},
		{"no name", "[user]\n\temail = r@example.com\n", git.Identity{}, ""},
		{"a name of nothing", "[user]\n\tname = \" . \"\n\temail = r@example.com\n", git.Identity{}, ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := sample(t, t.TempDir())
			write(t, r.dot+"/config", c.config)
			before := snapshot(t, r.dir)
			ops := newOps(git.Config{Grants: []git.Grant{{Repo: r.dir, Access: "rw"}}, User: git.User{Identity: c.user}})
			done, err := ops.CommitBranch(t.Context(), newCommit(r, text("a", "a")))
			if c.want == "" {
				var host *abi.HostError
				if !errors.As(err, &host) || host.Code != abi.HostFailed || host.Reason != abi.ReasonNoIdentity ||
					!strings.Contains(host.Message, "git config --global user.name") {
					t.Errorf("got %#v", err)
				}
				if diff := cmp.Diff(before, snapshot(t, r.dir)); diff != "" {
					t.Error(diff)
				}
				return
			}
			must(t, err)
			made := mustCommit(t, r, plumbing.NewHash(done.Commit))
			if got := made.Author.Name + " <" + made.Author.Email + ">"; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Of many that make one branch at once, one does; every other is told why not, and nothing is left behind.
func TestBranchIsMadeOnce(t *testing.T) {
	r := sample(t, t.TempDir())
	ops := writer(r.dir)
	var made sync.Map
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			done, err := ops.CommitBranch(t.Context(), newCommit(r, text("a", fmt.Sprint(i))))
			if err == nil {
				made.Store(done.Commit, true)
			} else if !strings.Contains(err.Error(), "exists already") && !strings.Contains(err.Error(), "new.lock is there") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	made.Range(func(hash, _ any) bool {
		n++
		got, err := ops.ResolveRef(t.Context(), abi.GitRef{Repo: r.dir, Ref: "new"})
		if err != nil || got.Hash != hash {
			t.Errorf("the branch is at %v, %v; want %v", got, err, hash)
		}
		return true
	})
	if n != 1 {
		t.Errorf("made %d times", n)
	}
	if _, err := os.Stat(r.dot + "/refs/heads/new.lock"); !os.IsNotExist(err) {
		t.Errorf("the lock is left: %v", err)
	}
}

func TestObjectsThatAreThereAreKept(t *testing.T) {
	r := sample(t, t.TempDir())
	blob := r.blob("kept\n").String()
	name := filepath.Join(r.dot, "objects", blob[:2], blob[2:])
	before, err := os.ReadFile(name)
	must(t, err)
	info, err := os.Stat(name)
	must(t, err)
	_, err = writer(r.dir).CommitBranch(t.Context(), newCommit(r, text("a", "kept\n")))
	must(t, err)
	after, err := os.ReadFile(name)
	must(t, err)
	now, err := os.Stat(name)
	must(t, err)
	if !bytes.Equal(before, after) || !os.SameFile(info, now) {
		t.Error("the object was written anew")
	}
}

func TestHooksAndConfigurationDoNotRun(t *testing.T) {
	r := gitSample(t)
	marker := filepath.Join(t.TempDir(), "ran")
	script := "#!/bin/sh\ntouch " + marker + "\n"
	for _, hook := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "reference-transaction", "post-index-change", "pre-auto-gc"} {
		write(t, r.dot+"/hooks/"+hook, script)
		must(t, os.Chmod(r.dot+"/hooks/"+hook, 0o755))
	}
	write(t, r.dir+"/fs.sh", script)
	must(t, os.Chmod(r.dir+"/fs.sh", 0o755))
	for key, value := range map[string]string{"core.fsmonitor": r.dir + "/fs.sh", "commit.gpgSign": "true", "gpg.program": r.dir + "/fs.sh",
		"filter.f.clean": r.dir + "/fs.sh", "gc.auto": "1"} {
		program(t, r.dir, "config", key, value)
	}
	write(t, r.dir+"/.gitattributes", "* filter=f\n")
	ops := writer(r.dir)
	_, err := ops.CommitBranch(t.Context(), newCommit(r, text("a", "a")))
	must(t, err)
	write(t, r.dir+"/notes.txt", "NEW!\n")
	_, err = ops.Status(t.Context(), abi.GitStatusQuery{Repo: r.dir})
	must(t, err)
	if _, err := os.Stat(marker); !os.IsNotExist(err) {
		t.Errorf("something ran: %v", err)
	}
}
