//go:build unix

package git_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// changing are the operations that change the index or the current branch, or create a branch of the commit HEAD.
var changing = map[string]func(t *testing.T, o *git.Ops, dir, head string) error{
	"Commit": func(t *testing.T, o *git.Ops, dir, _ string) error {
		_, err := o.Commit(t.Context(), abi.GitIndexCommit{Repo: dir, Message: "x"})
		return err
	},
	"CreateBranch": func(t *testing.T, o *git.Ops, dir, head string) error {
		_, err := o.CreateBranch(t.Context(), abi.GitNewBranch{Repo: dir, Branch: "new", Commit: head})
		return err
	},
	"Reset": func(t *testing.T, o *git.Ops, dir, _ string) error {
		_, err := o.Reset(t.Context(), abi.GitRepo{Repo: dir})
		return err
	},
}

func TestDamagedRepositoryIsNotChanged(t *testing.T) {
	const absent = "1111111111111111111111111111111111111111\n"
	write := func(name, content string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Write(r.TB, r.Dot+"/"+name, content) }
	}
	all := []string{"Commit", "CreateBranch", "Reset"}
	sample := gittest.GitSample(t)
	head := gittest.Git(t, sample.Dir, "rev-parse", "HEAD")
	stage(sample)
	for name, c := range map[string]struct {
		damage func(*gittest.Repo)
		fail   []string
	}{
		"a malformed index of a pack": {func(r *gittest.Repo) {
			write("objects/pack/pack-1.idx", "x")(r)
			write("objects/pack/pack-1.pack", "x")(r)
		}, all},
		"a malformed configuration": {write("config", "[core\n"), all},
		"a malformed configuration of a worktree": {func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "config", "extensions.worktreeConfig", "true")
			write("config.worktree", "[core\n")(r)
		}, all},
		"a directory in place of that configuration": {func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "config", "extensions.worktreeConfig", "true")
			gittest.Mkdir(r.TB, r.Dot+"/config.worktree")
		}, all},
		"a malformed HEAD":                  {write("HEAD", "x\n"), all},
		"a malformed branch":                {write("refs/heads/main", "x\n"), []string{"Commit", "Reset"}},
		"a branch of an absent commit":      {write("refs/heads/main", absent), []string{"Commit", "Reset"}},
		"a malformed index":                 {write("index", "DIRC"), []string{"Commit", "Reset"}},
		"a locked index":                    {write("index.lock", ""), []string{"Commit", "Reset"}},
		"a locked branch":                   {write("refs/heads/main.lock", ""), []string{"Commit"}},
		"a locked new branch":               {write("refs/heads/new.lock", ""), []string{"CreateBranch"}},
		"a cherry-pick of an invalid hash":  {write("CHERRY_PICK_HEAD", "x\n"), []string{"Commit", "Reset"}},
		"a rebase":                          {func(r *gittest.Repo) { gittest.Mkdir(r.TB, r.Dot+"/rebase-merge") }, []string{"Commit", "Reset"}},
		"a directory in place of a new log": {func(r *gittest.Repo) { write("logs/refs/heads/new/x", "")(r) }, []string{"CreateBranch"}},
		"an existing branch":                {func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "branch", "new") }, []string{"CreateBranch"}},
		"a current branch without commits":  {write("HEAD", "ref: refs/heads/new\n"), []string{"CreateBranch"}},
	} {
		for _, operation := range all {
			t.Run(name+", "+operation, func(t *testing.T) {
				r := sample.Copy(t)
				c.damage(r)
				before := gittest.Snapshot(t, r.Dir)
				err := changing[operation](t, gittest.Committer(r.Dir), r.Dir, head)
				if fails := strings.Contains(strings.Join(c.fail, " "), operation); fails != (gittest.Code(err) == abi.HostFailed) {
					t.Fatalf("got %v, want an error: %t", err, fails)
				}
				if host, ok := errors.AsType[*abi.HostError](err); ok && (host.Reason != "" || strings.Contains(host.Message, "the repository is damaged")) {
					t.Errorf("the reason is %q, the error that of a panic: %v", host.Reason, host)
				}
				if err == nil {
					return
				}
				after := gittest.Snapshot(t, r.Dir)
				for name, content := range after {
					if was, ok := before[name]; !ok && !strings.Contains(name, "/objects/") || ok && was != content {
						t.Errorf("%s was changed or created", name)
					}
				}
			})
		}
	}
}

func TestChangeNeedsRepositoryAndUser(t *testing.T) {
	r := gittest.GitSample(t)
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	stage(r)
	empty := t.TempDir()
	unreadable := func(context.Context) (git.UserConfig, error) { return nil, errors.New("unreadable") }
	for operation, do := range changing {
		if err := do(t, gittest.Committer(empty), empty, head); gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "no git repository") {
			t.Errorf("%s without a repository: got %v", operation, err)
		}
		ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir, Commit: true}}, User: unreadable})
		if err := do(t, ops, r.Dir, head); gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "unreadable") {
			t.Errorf("%s without the user's configuration: got %v", operation, err)
		}
		if operation == "Reset" {
			continue // names no author
		}
		err := do(t, gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir, Commit: true}}}), r.Dir, head)
		host, _ := errors.AsType[*abi.HostError](err)
		if host == nil || host.Reason != abi.ReasonNoIdentity {
			t.Errorf("%s without an author: got %v", operation, err)
		}
	}
}

func TestHooksOfOtherChangesAreRefused(t *testing.T) {
	for operation, hook := range map[string]string{"CreateBranch": "reference-transaction", "Reset": "post-index-change"} {
		r := gittest.GitSample(t)
		gittest.Write(t, r.Dot+"/hooks/"+hook, "#!/bin/sh\n")
		gittest.Must(t, os.Chmod(r.Dot+"/hooks/"+hook, 0o755))
		head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
		if err := changing[operation](t, gittest.Committer(r.Dir), r.Dir, head); err == nil || !strings.Contains(err.Error(), hook+" is active") {
			t.Errorf("%s: got %v", operation, err)
		}
	}
}

func TestNewBranchIsChecked(t *testing.T) {
	r := gittest.GitSample(t)
	head, tree := gittest.Git(t, r.Dir, "rev-parse", "HEAD"), gittest.Git(t, r.Dir, "rev-parse", "HEAD^{tree}")
	for name, c := range map[string]struct {
		branch, commit, from, code string
	}{
		"an invalid name":         {"a..b", head, "", abi.HostInvalid},
		"an abbreviated hash":     {"a", head[:7], "", abi.HostInvalid},
		"a reference":             {"a", "main", "", abi.HostInvalid},
		"a line feed":             {"a", head, "x\ny", abi.HostInvalid},
		"a NUL":                   {"a", head, "x\x00", abi.HostInvalid},
		"a start of 1,024 bytes":  {"long", head, strings.Repeat("x", 1024), ""},
		"a start of 1,025 bytes":  {"a", head, strings.Repeat("x", 1025), abi.HostInvalid},
		"a tree":                  {"a", tree, "", abi.HostFailed},
		"an absent commit":        {"a", strings.Repeat("1", 40), "", abi.HostFailed},
		"without a name of start": {"plain", head, "", ""},
	} {
		_, err := gittest.Committer(r.Dir).CreateBranch(t.Context(), abi.GitNewBranch{Repo: r.Dir, Branch: c.branch, Commit: c.commit, From: c.from})
		if gittest.Code(err) != c.code {
			t.Errorf("%s: got %v, want %q", name, err, c.code)
		}
	}
	if got := gittest.Git(t, r.Dir, "for-each-ref", "--format=%(refname:short)", "refs/heads"); got != "long\nmain\nplain" {
		t.Errorf("the branches are %q", got)
	}
	if got := gittest.Git(t, r.Dir, "reflog", "show", "--format=%gs", "plain"); got != "branch: Created from "+head {
		t.Errorf("the log is %q", got)
	}
}

func TestCommitNamesItsParent(t *testing.T) {
	r := gittest.GitSample(t)
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	stage(r)
	ops := gittest.Committer(r.Dir)
	for message, want := range map[string]string{"": abi.HostInvalid, " \n\t\n": abi.HostInvalid, "a\x00": abi.HostInvalid, strings.Repeat("x", 64<<10+1): abi.HostInvalid} {
		if _, err := ops.Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: message}); gittest.Code(err) != want {
			t.Errorf("a message of %d bytes: got %v", len(message), err)
		}
	}
	done, err := ops.Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: strings.Repeat("x", 64<<10)})
	if err != nil || done.Parent != head {
		t.Errorf("got %+v, %v; want the parent %s", done, err, head)
	}
	gittest.Git(t, r.Dir, "checkout", "-q", "--orphan", "first")
	if done, err = ops.Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: "first"}); err != nil || done.Parent != "" {
		t.Errorf("the first commit of a branch: got %+v, %v", done, err)
	}
	gittest.Git(t, r.Dir, "checkout", "-q", "--orphan", "empty")
	gittest.Git(t, r.Dir, "rm", "-rfq", "--cached", ".")
	if _, err = ops.Commit(t.Context(), abi.GitIndexCommit{Repo: r.Dir, Message: "empty"}); err == nil || !strings.Contains(err.Error(), "nothing to commit") {
		t.Errorf("a first commit without files: got %v", err)
	}
}

// Without a commit, the index of HEAD is empty.
func TestResetOfUnbornBranch(t *testing.T) {
	r := gittest.GitSample(t)
	gittest.Git(t, r.Dir, "checkout", "-q", "--orphan", "other")
	if _, err := gittest.Committer(r.Dir).Reset(t.Context(), abi.GitRepo{Repo: r.Dir}); err != nil {
		t.Error(err)
	}
	if got := gittest.Git(t, r.Dir, "ls-files"); got != "" {
		t.Errorf("the index has %q", got)
	}
}
