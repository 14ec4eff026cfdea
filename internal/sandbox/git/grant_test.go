package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// In each case, the repository is the directory all/grant/repo.
func TestGrantContainsRepository(t *testing.T) {
	cases := []struct {
		rule          string
		grant, folder string // paths relative to the directory all
		found         bool
		code          string
	}{
		{"the granted directory itself", "grant/repo", "grant/repo", true, ""},
		{"a grant that ends in a slash", "grant/repo/", "grant/repo", true, ""},
		{"a directory of the repository", "grant/repo", "grant/repo/dir", true, ""},
		{"a repository below the granted directory", "grant", "grant/repo", true, ""},
		{"a directory without a repository", "grant", "grant", false, ""},
		{"a directory that does not exist", "grant", "grant/nope", false, ""},
		{"a file is not a directory", "grant", "grant/repo/.git/HEAD", false, ""},
		{"a granted directory that does not exist", "nope", "nope", false, ""},
		{"a repository whose top level is above the grant", "grant/repo/dir", "grant/repo/dir", false, ""},
		{"a directory beside the grant", "grant/repo", "grant/other", false, abi.HostDenied},
		{"a directory that begins like the grant", "grant/repo", "grant/repo-2", false, abi.HostDenied},
		{"a directory above the grant", "grant/repo", "grant", false, abi.HostDenied},
		{"a way out by two dots", "grant/repo", "grant/repo/../repo-2", false, abi.HostDenied},
		{"a way in by two dots", "grant/repo", "grant/repo-2/../repo", true, ""},
		{"the root of all", "grant/repo", "../../../../../../../../..", false, abi.HostDenied},
	}
	all := t.TempDir()
	for _, name := range []string{"repo", "repo-2", "other"} {
		r := gittest.Sample(t, filepath.Join(all, "grant", name))
		gittest.Mkdir(t, filepath.Join(r.Dir, "dir"))
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			found, err := gittest.FindSample(t, all+"/"+c.grant, all+"/"+c.folder)
			if found != c.found || gittest.Code(err) != c.code {
				t.Errorf("got %v, %v; want %v, %q", found, err, c.found, c.code)
			}
		})
	}
}

// TestGrantByAlias checks that operations find a repository by the granted path, which contains symbolic links. The paths in their
// answers must begin with that path.
func TestGrantByAlias(t *testing.T) {
	all, err := filepath.EvalSymlinks(t.TempDir())
	gittest.Must(t, err)
	r := gittest.Sample(t, filepath.Join(all, "real", "repo"))
	gittest.Git(t, r.Dir, "worktree", "add", "-q", "../linked", "feature/x") // the .git file of the worktree contains the resolved path
	gittest.Symlink(t, "real", filepath.Join(all, "alias"))
	ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: filepath.Join(all, "real"), Alias: filepath.Join(all, "alias")}}})
	for _, name := range []string{"real", "alias"} {
		for _, repo := range []string{"repo", "linked"} {
			dir := filepath.Join(all, name, repo)
			top, err := ops.TopLevel(t.Context(), abi.GitPath{Path: filepath.Join(dir, "a", "b")})
			if err != nil || top.TopLevel != dir {
				t.Errorf("%s: got %q, %v", dir, top.TopLevel, err)
			}
			if ok, err := ops.BranchExists(t.Context(), abi.GitBranch{Repo: dir, Branch: "main"}); !ok || err != nil {
				t.Errorf("%s: got %t, %v", dir, ok, err)
			}
			if got, err := ops.Ignored(t.Context(), abi.GitPaths{Repo: dir, Paths: []string{filepath.Join(dir, "x")}}); err != nil {
				t.Errorf("%s: got %v, %v", dir, got, err)
			}
		}
	}
}

// TestUsedGrantsAreReported has a worktree whose repository is in another grant.
func TestUsedGrantsAreReported(t *testing.T) {
	all, err := filepath.EvalSymlinks(t.TempDir())
	gittest.Must(t, err)
	r := gittest.Sample(t, filepath.Join(all, "repo"))
	gittest.Git(t, r.Dir, "worktree", "add", "-q", "../linked", "feature/x")
	gittest.Mkdir(t, filepath.Join(all, "other"))
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	var got []string
	used := func(_ context.Context, granted string, write bool) {
		if text := fmt.Sprint(filepath.Base(granted), " ", write); !slices.Contains(got, text) {
			got = append(got, text)
		}
	}
	ops := gittest.NewOps(git.Config{Used: used, User: gittest.User(git.User{Identity: git.Identity{Name: "A", Email: "a@example.com"}}), Grants: []git.Grant{{Repo: r.Dir, Commit: true}, {Repo: filepath.Join(all, "linked")}, {Repo: filepath.Join(all, "other")}}})
	for _, c := range []struct {
		do   func() error
		want string
	}{
		{func() error { _, err := ops.CurrentBranch(t.Context(), abi.GitRepo{Repo: r.Dir}); return err }, "[repo false]"},
		{func() error {
			_, err := ops.CurrentBranch(t.Context(), abi.GitRepo{Repo: filepath.Join(all, "linked")})
			return err
		}, "[linked false repo false]"},
		{func() error {
			_, err := ops.CreateBranch(t.Context(), abi.GitNewBranch{Repo: r.Dir, Branch: "new", Commit: head})
			return err
		}, "[repo true]"},
		{func() error { _, err := ops.Status(t.Context(), abi.GitStatusQuery{Repo: all}); return err }, "[]"}, // not granted
	} {
		got = nil
		if err := c.do(); err != nil && c.want != "[]" {
			t.Error(err)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}

// A module cannot see a repository of which only a part is granted, so that "no repository" would be a false answer.
func TestGrantOfPartOfRepositoryIsDenied(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	part := filepath.Join(r.Dir, "part")
	for _, name := range []string{"dir", "own"} {
		gittest.Mkdir(t, filepath.Join(part, name))
	}
	gittest.Sample(t, filepath.Join(part, "own"))
	ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: part, Above: r.Dir}}})
	for name, want := range map[string]string{"": abi.HostDenied, "dir": abi.HostDenied, "own": ""} {
		at := filepath.Join(part, name)
		_, err := ops.FindCommit(t.Context(), abi.GitSearch{Repo: at, Text: "second"})
		if gittest.Code(err) != want || want != "" && !strings.Contains(err.Error(), fmt.Sprintf("{ repo = %q, access", r.Dir)) {
			t.Errorf("%s: got %v", at, err)
		}
		if _, err := ops.TopLevel(t.Context(), abi.GitPath{Path: at}); gittest.Code(err) != want {
			t.Errorf("%s: got %v", at, err)
		}
	}
}

func TestWithoutGrantRepositoriesAreDenied(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	_, err := gittest.Granted().BranchExists(t.Context(), abi.GitBranch{Repo: r.Dir, Branch: "main"})
	if gittest.Code(err) != abi.HostDenied || !strings.Contains(err.Error(), "[capabilities] git") {
		t.Errorf("got %v", err)
	}
}

func TestAnyContainingGrantSuffices(t *testing.T) {
	dir := t.TempDir()
	r := gittest.Sample(t, filepath.Join(dir, "b"))
	gittest.Mkdir(t, r.Dir+"/dir")
	for _, grants := range [][]string{{dir + "/a", r.Dir}, {r.Dir + "/dir", r.Dir}, {r.Dir, r.Dir + "/dir"}} {
		ok, err := gittest.Granted(grants...).BranchExists(t.Context(), abi.GitBranch{Repo: r.Dir + "/dir", Branch: "main"})
		if err != nil || !ok {
			t.Errorf("%v: got %v, %v", grants, ok, err)
		}
	}
}

// A module can use the resolved path of a directory that is granted by a symbolic link. Git writes resolved absolute paths too.
func TestGrantBySymbolicLink(t *testing.T) {
	all := t.TempDir()
	r := gittest.Sample(t, filepath.Join(all, "real", "repo"))
	gittest.Must(t, os.Rename(r.Dot, filepath.Join(all, "real", "git")))
	gittest.Write(t, r.Dot, "gitdir: "+filepath.Join(all, "real", "git")+"\n")
	gittest.Symlink(t, "real", filepath.Join(all, "grant"))
	found, err := gittest.FindSample(t, filepath.Join(all, "grant"), filepath.Join(all, "real", "repo"))
	if err != nil || !found {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestConfigurationHooksAndReplacementsAreIgnored(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	main, err := r.Store.Reference("refs/heads/main")
	gittest.Must(t, err)
	other, err := r.Store.Reference("refs/heads/feature/x")
	gittest.Must(t, err)
	marker := filepath.Join(r.Dir, "ran")
	gittest.Write(t, r.Dot+"/config", "[core]\n\tfsmonitor = touch "+marker+"\n\tpager = touch "+marker+"\n[include]\n\tpath = /etc/hostname\n")
	gittest.Write(t, r.Dot+"/hooks/post-checkout", "#!/bin/sh\ntouch "+marker+"\n")
	gittest.Write(t, r.Dot+"/info/attributes", "* filter=touch\n")
	gittest.Must(t, r.Store.SetReference(plumbing.NewHashReference(plumbing.ReferenceName("refs/replace/"+main.Hash().String()), other.Hash())))
	found, err := gittest.FindSample(t, r.Dir, r.Dir)
	if err != nil || !found {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a hook or filter ran: %v", err)
	}
}
