//go:build unix

package git_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// stage stages a change of notes.txt and a new file.
func stage(r *gittest.Repo) {
	gittest.Write(r.TB, r.Dir+"/notes.txt", "staged\n")
	gittest.Write(r.TB, r.Dir+"/new/file", "new\n")
	gittest.Git(r.TB, r.Dir, "add", ".")
	gittest.Write(r.TB, r.Dir+"/notes.txt", "not staged\n")
}

// sameAsGit compares the git directories of a repository and of its copy, which git has changed, without the index, whose stat data differs.
func sameAsGit(t *testing.T, dir, copied string) {
	t.Helper()
	got, want := gittest.Snapshot(t, dir+"/.git"), gittest.Snapshot(t, copied+"/.git")
	delete(got, dir+"/.git/COMMIT_EDITMSG") // the text for an editor
	delete(want, copied+"/.git/COMMIT_EDITMSG")
	for name, content := range want {
		below := strings.TrimPrefix(name, copied)
		if found, ok := got[dir+below]; below != "/.git/index" && (!ok || found != content && !strings.HasPrefix(below, "/.git/objects/")) {
			t.Errorf("%s is %q, git writes %q", below, found, content)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d files, with git %d", len(got), len(want))
	}
	gittest.Git(t, dir, "fsck", "--strict", "--full", "--no-dangling")
	for _, args := range [][]string{{"status", "--porcelain=v2", "--branch"}, {"ls-files", "--stage"}, {"ls-files", "--resolve-undo"}} {
		if got, want := gittest.Git(t, dir, args...), gittest.Git(t, copied, args...); got != want {
			t.Errorf("git %s shows\n%s\nafter git\n%s", args[0], got, want)
		}
	}
}

// copyOf copies a repository.
func copyOf(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	copied := r.Copy(t).Dir
	gittest.Git(t, copied, "status") // refreshes the index
	return copied
}

func TestCommitIsGits(t *testing.T) {
	t.Setenv("GIT_AUTHOR_DATE", gittest.CommitterDate)
	t.Setenv("GIT_COMMITTER_DATE", gittest.CommitterDate)
	const message = "change notes"
	cases := []struct {
		rule, message string
		arrange       func(*gittest.Repo)
	}{
		{"staged changes", message, stage},
		{"an index of version 4", message, func(r *gittest.Repo) {
			stage(r)
			gittest.Git(r.TB, r.Dir, "update-index", "--index-version", "4")
		}},
		{"a removed file", message, func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "rm", "--quiet", "dir/deep.txt") }},
		{"every file removed", message, func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "rm", "-r", "--quiet", ".") }},
		{"an executable", message, func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "update-index", "--chmod=+x", "notes.txt") }},
		{"a file that is only intended to be added", message, func(r *gittest.Repo) {
			stage(r)
			gittest.Write(r.TB, r.Dir+"/later", "x")
			gittest.Git(r.TB, r.Dir, "add", "--intent-to-add", "later")
		}},
		{"the first commit", message, func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "--orphan", "other/branch") }},
		{"a detached HEAD", message, func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "--detach")
			stage(r)
		}},
		{"packed references and objects", message, func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "gc", "--quiet")
			stage(r)
		}},
		{"a bisection", message, func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "bisect", "start")
			stage(r)
		}},
		{"a message to clean", "\n \n  subject  \t\nmore\r\n\n\n\nbody \u00a0 \n\tx\v\n\n", stage},
		{"a message that looks like a comment", "# subject\n# more", stage},
		{"a message with code points outside the BMP", "\U0001f600 ü", stage},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			c.arrange(r)
			copied := copyOf(t, r)
			done, err := gittest.Committer(r.Dir).Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: c.message})
			gittest.Must(t, err)
			gittest.Git(t, copied, "commit", "--quiet", "--message="+c.message)
			if want := gittest.Git(t, copied, "rev-parse", "HEAD"); done.Commit != want {
				t.Errorf("the commit is %s, git's is %s: %s", done.Commit, want, gittest.Git(t, r.Dir, "cat-file", "commit", done.Commit))
			}
			sameAsGit(t, r.Dir, copied)
		})
	}
}

func TestCommitInLinkedWorktree(t *testing.T) {
	all := t.TempDir()
	r := gittest.GitSample(t)
	gittest.Must(t, os.Rename(r.Dir, all+"/main"))
	gittest.Git(t, all+"/main", "worktree", "add", "--quiet", "-b", "linked", "../linked")
	gittest.Write(t, all+"/linked/notes.txt", "linked\n")
	gittest.Git(t, all+"/linked", "add", ".")
	main := gittest.Git(t, all+"/main", "rev-parse", "main")
	done, err := gittest.Committer(all).Commit(t.Context(), abi.GitIndexCommit{Repo: all + "/linked", Message: "linked"})
	gittest.Must(t, err)
	if got := gittest.Git(t, all+"/main", "rev-parse", "linked", "main"); got != done.Commit+"\n"+main {
		t.Errorf("the branches are %s, the commit %+v", got, done)
	}
	if got := gittest.Git(t, all+"/linked", "status", "--porcelain"); got != "" {
		t.Errorf("the worktree is not clean: %s", got)
	}
	gittest.Git(t, all+"/main", "fsck", "--strict", "--no-dangling")
}

func TestCommitRefuses(t *testing.T) {
	config := func(args ...string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, append([]string{"config"}, args...)...) }
	}
	otherSetting := func(name string) func(*gittest.Repo) {
		return func(r *gittest.Repo) {
			config(name, "true")(r)
			gittest.Write(r.TB, r.Dot+"/config.worktree", "[core]\n\thooksPath = x\n")
		}
	}
	hook := func(name string, mode os.FileMode) func(*gittest.Repo) {
		return func(r *gittest.Repo) {
			gittest.Write(r.TB, r.Dot+"/hooks/"+name, "#!/bin/sh\n")
			gittest.Must(r.TB, os.Chmod(r.Dot+"/hooks/"+name, mode))
		}
	}
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo)
		why     string // part of the error; empty if the commit is made
	}{
		{"an active pre-commit", hook("pre-commit", 0o755), "the hook"},
		{"an active prepare-commit-msg", hook("prepare-commit-msg", 0o755), "prepare-commit-msg is active"},
		{"an active commit-msg", hook("commit-msg", 0o711), "commit-msg is active"},
		{"an active post-commit", hook("post-commit", 0o755), "post-commit is active"},
		{"an active reference-transaction", hook("reference-transaction", 0o755), "reference-transaction is active"},
		{"a hook that is a link", func(r *gittest.Repo) { gittest.Symlink(r.TB, "/nothing", r.Dot+"/hooks/pre-commit") }, "pre-commit is active"},
		{"a hook that is not executable", hook("pre-commit", 0o644), ""},
		{"a hook of other commands", hook("pre-push", 0o755), ""},
		{"a sample of a hook", hook("pre-commit.sample", 0o755), ""},
		{"a directory of hooks", config("core.hooksPath", ".husky"), `core.hooksPath is ".husky"`},
		{"a hook in the configuration", config("hook.linter.event", "commit-msg"), "hook.linter.event is commit-msg"},
		{"a hook of other commands in the configuration", config("hook.linter.event", "pre-push"), ""},
		{"signed commits", config("commit.gpgSign", "true"), "commit.gpgSign is set"},
		{"signed commits by a value that git does not know", config("commit.gpgSign", "maybe"), "commit.gpgSign is set"},
		{"no signed commits", config("commit.gpgSign", "false"), ""},
		{"another encoding", config("i18n.commitEncoding", "ISO-8859-1"), "i18n.commitEncoding"},
		{"included configuration", config("include.path", "more"), "includes other files"},
		{"conditionally included configuration", config("includeIf.gitdir:/x/.path", "more"), "includes other files"},
		{"the configuration of a worktree", func(r *gittest.Repo) {
			config("extensions.worktreeConfig", "true")(r)
			config("--worktree", "core.hooksPath", "x")(r)
		}, "config.worktree"},
		{"no configuration of a worktree", func(r *gittest.Repo) {
			config("extensions.worktreeConfig", "false")(r)
			gittest.Write(r.TB, r.Dot+"/config.worktree", "[core]\n\thooksPath = x\n")
		}, ""},
		{"no configuration of a worktree by a subsection", otherSetting("extensions.x.worktreeConfig"), ""},
		{"no configuration of a worktree by another extension", otherSetting("extensions.noop"), ""},
		{"no configuration of a worktree by another section", otherSetting("other.worktreeConfig"), ""},
		{"a shared repository", config("core.sharedRepository", "group"), `core.sharedRepository is "group"`},
		{"a shared repository by its permissions", config("core.sharedRepository", "0660"), "core.sharedRepository"},
		{"a repository that is not shared", config("core.sharedRepository", "umask"), ""},
		{"a merge", func(r *gittest.Repo) {
			gittest.Write(r.TB, r.Dot+"/MERGE_HEAD", gittest.Git(r.TB, r.Dir, "rev-parse", "main")+"\n")
		}, "a merge is in progress"},
		{"a rebase", func(r *gittest.Repo) { gittest.Mkdir(r.TB, r.Dot+"/rebase-merge") }, "a rebase is in progress"},
		{"a locked index", func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/index.lock", "") }, "index.lock exists"},
		{"a split index", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "update-index", "--split-index") }, "a split index is not supported"},
		{"nothing staged", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "reset", "--quiet") }, "nothing to commit"},
		{"no identity", nil, "nobody to name"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			stage(r)
			ops := gittest.Committer(r.Dir)
			if c.arrange != nil {
				c.arrange(r)
			} else {
				ops = gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir, Commit: true}}})
			}
			before := gittest.Snapshot(t, r.Dir)
			_, err := ops.Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: "x"})
			if c.why == "" {
				gittest.Must(t, err)
				return
			}
			if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error with %q", err, c.why)
			}
			after := gittest.Snapshot(t, r.Dir)
			for name, content := range after {
				if was, ok := before[name]; !ok || was != content {
					t.Errorf("%s was changed or created", name)
				}
			}
		})
	}
}

// The user's configuration takes effect unless that of the repository overrides it.
func TestCommitObeysUserSettings(t *testing.T) {
	for _, c := range []struct{ rule, user, own, why string }{
		{"signed commits", "[commit]\n\tgpgSign\n", "", ".gitconfig"},
		{"signed commits, not in this repository", "[commit]\n\tgpgSign = yes\n", "false", ""},
		{"hooks of the user", "[core]\n\thooksPath = ~/hooks\n", "", "core.hooksPath"},
		{"a hook of the user in the configuration", "[hook \"linter\"]\n\tevent = pre-push\n\tevent = pre-commit\n\tcommand = x\n", "", ".gitconfig: git would run the command"},
		{"hooks of a condition that holds", "[includeIf \"onbranch:main\"]\n\tpath = hooks\n", "", "hooks: git would run"},
		{"hooks of a condition that does not hold", "[includeIf \"onbranch:other\"]\n\tpath = hooks\n", "", ""},
		{"a condition that is not supported", "[includeIf \"hasconfig:remote.*.url:x\"]\n\tpath = hooks\n", "", "(includeIf.hasconfig:remote.*.url:x)"},
		{"an included file that cannot be read", "[include]\n\tpath = damaged\n", "", "damaged cannot be read"},
		{"configuration that cannot be read", "[core\n", "", "cannot be read"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			home := t.TempDir()
			gittest.Write(t, home+"/.gitconfig", c.user)
			gittest.Write(t, home+"/hooks", "[core]\n\thooksPath = x\n")
			gittest.Write(t, home+"/damaged", "[core\n")
			user, _ := git.UserFiles{Home: home}.Read() // the host logs the error
			user = append(user, git.Layer{User: git.User{Identity: gittest.Someone}})
			r := gittest.GitSample(t)
			stage(r)
			if c.own != "" {
				gittest.Git(t, r.Dir, "config", "commit.gpgSign", c.own)
			}
			ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir, Commit: true}}, User: func(context.Context) (git.UserConfig, error) { return user, nil }})
			_, err := ops.Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: "x"})
			if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("got %v, want %q", err, c.why)
			}
		})
	}
}

func TestCommitNeedsItsOwnAccess(t *testing.T) {
	r := gittest.GitSample(t)
	stage(r)
	before := gittest.Snapshot(t, r.Dir)
	hash := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	for rule, ops := range map[string]*git.Ops{"reading": gittest.Granted(r.Dir), "creating branches": gittest.Writer(r.Dir)} {
		_, err := ops.Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: "x"})
		_, branchErr := ops.CreateBranch(t.Context(), abi.GitNewBranch{Repo: r.Dir, Branch: "new", Commit: hash})
		_, resetErr := ops.Reset(t.Context(), abi.GitRepo{Repo: r.Dir})
		for _, err := range []error{err, branchErr, resetErr} {
			if gittest.Code(err) != abi.HostDenied || !strings.Contains(err.Error(), `access = "commit"`) {
				t.Errorf("with a grant of %s: %v", rule, err)
			}
		}
	}
	after := gittest.Snapshot(t, r.Dir)
	for name := range after {
		if after[name] != before[name] {
			t.Errorf("%s has changed", name)
		}
	}
}

func TestCreateBranchIsGits(t *testing.T) {
	t.Setenv("GIT_COMMITTER_DATE", gittest.CommitterDate)
	for _, branch := range []string{"new", "a/b/c"} {
		r := gittest.GitSample(t)
		copied := copyOf(t, r)
		hash := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
		_, err := gittest.Committer(r.Dir).CreateBranch(t.Context(), abi.GitNewBranch{Repo: r.Dir, Branch: branch, Commit: hash, From: "main"})
		gittest.Must(t, err)
		gittest.Git(t, copied, "branch", branch, "main")
		sameAsGit(t, r.Dir, copied)
	}
}

func TestResetIsGits(t *testing.T) {
	r := gittest.GitSample(t)
	stage(r)
	copied := copyOf(t, r)
	_, err := gittest.Committer(r.Dir).Reset(t.Context(), abi.GitRepo{Repo: r.Dir})
	gittest.Must(t, err)
	gittest.Git(t, copied, "read-tree", "HEAD")
	sameAsGit(t, r.Dir, copied)
}

// The directory of a grant may be absent: a change of it must not look as if it had been made.
func TestChangesInAbsentDirectoryFail(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: absent, Commit: true}}})
	for name, operate := range map[string]func() error{
		"git/add": func() error {
			_, err := ops.Add(t.Context(), abi.GitAdd{Repo: absent, Paths: []string{"."}}, nil)
			return err
		},
		"git/commit": func() error {
			_, err := ops.Commit(t.Context(), abi.GitIndexCommit{Repo: absent, Message: "x"})
			return err
		},
		"git/create_branch": func() error {
			_, err := ops.CreateBranch(t.Context(), abi.GitNewBranch{Repo: absent, Branch: "new", Commit: strings.Repeat("0", 40), From: "main"})
			return err
		},
		"git/reset": func() error {
			_, err := ops.Reset(t.Context(), abi.GitRepo{Repo: absent})
			return err
		},
		"git/commit_branch": func() error {
			_, err := ops.CommitBranch(t.Context(), abi.GitNewCommit{Repo: absent, Branch: "new", Message: "x", Changes: []abi.GitChange{gittest.Text("a", "x")}})
			return err
		},
	} {
		if err := operate(); gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), absent+": no git repository") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
