package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// layouts are the ways in which git can store the same repository, keyed by description.
var layouts = map[string]func(*gittest.Repo){
	"loose objects and references":  func(*gittest.Repo) {},
	"packed objects":                func(r *gittest.Repo) { r.Pack(false) },
	"packed objects, bases by hash": func(r *gittest.Repo) { r.Pack(true) },
	"packed references":             func(r *gittest.Repo) { gittest.Must(r.TB, r.Store.PackRefs()) },
	"all packed":                    func(r *gittest.Repo) { r.Pack(false); gittest.Must(r.TB, r.Store.PackRefs()) },
	"objects in an alternate inside of the grant, by a relative path": func(r *gittest.Repo) {
		moveObjects(r, "../../store")
	},
	"objects in an alternate inside of the grant, by an absolute path": func(r *gittest.Repo) {
		moveObjects(r, filepath.Join(r.Dir, "store"))
	},
}

func moveObjects(r *gittest.Repo, pointer string) {
	gittest.Must(r.TB, os.Rename(filepath.Join(r.Dot, "objects"), filepath.Join(r.Dir, "store")))
	gittest.Write(r.TB, filepath.Join(r.Dot, "objects", "info", "alternates"), "# where they are\n"+pointer+"\n")
}

func TestBranchExists(t *testing.T) {
	rules := []struct {
		rule, branch string
		want         bool
	}{
		{"a branch exists", "main", true},
		{"a branch with a slash exists", "feature/x", true},
		{"the directory of a branch is no branch", "feature", false},
		{"a name below a branch is no branch", "main/x", false},
		{"an unknown branch does not exist", "other", false},
		{"the end of a branch's name is no branch", "x", false},
		{"a name longer than a file's may be does not exist", strings.Repeat("n", 300), false},
	}
	for layout, arrange := range layouts {
		r := gittest.Sample(t, t.TempDir())
		arrange(r)
		for _, c := range rules {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				got, err := gittest.Granted(r.Dir).BranchExists(t.Context(), abi.GitBranch{Repo: r.Dir, Branch: c.branch})
				if err != nil || got != c.want {
					t.Errorf("got %v, %v; want %v", got, err, c.want)
				}
			})
		}
	}
}

func TestReadFile(t *testing.T) {
	found := func(s string) abi.GitContent { return abi.GitContent{Found: true, Content: []byte(s)} }
	rules := []struct {
		rule, branch, path string
		want               abi.GitContent
	}{
		{"a file is read", "main", "notes.txt", found("main\n")},
		{"each branch has its own", "feature/x", "notes.txt", found("feature\n")},
		{"an executable file is a file", "main", "run.sh", found("#!/bin/sh\n")},
		{"an empty file is found", "main", "empty.txt", found("")},
		{"a file in a directory is read", "main", "dir/deep.txt", found("deep\n")},
		{"an unknown file is not found", "main", "nope.txt", abi.GitContent{}},
		{"a file that another branch has is not found", "feature/x", "dir/deep.txt", abi.GitContent{}},
		{"an unknown branch has no files", "other", "notes.txt", abi.GitContent{}},
		{"a directory is not a file", "main", "dir", abi.GitContent{}},
		{"a link is not a file", "main", "link", abi.GitContent{}},
		{"a submodule is not a file", "main", "sub", abi.GitContent{}},
		{"nothing is found below a file", "main", "notes.txt/x", abi.GitContent{}},
		{"nothing is found below a submodule", "main", "sub/x", abi.GitContent{}},
		{"nothing is found below a link", "main", "link/x", abi.GitContent{}},
	}
	for layout, arrange := range layouts {
		r := gittest.Sample(t, t.TempDir())
		arrange(r)
		for _, c := range rules {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				got, err := gittest.Granted(r.Dir).ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: c.branch, Path: c.path})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestFindCommit(t *testing.T) {
	rules := []struct{ rule, text, want string }{
		{"a text in the first line is found", "add(dir)", "main"},
		{"a text in the body is found", "body of", "main"},
		{"a text over two lines is found", "second\n\nbody", "main"},
		{"an older commit is found", "first", "first"},
		{"letters count as they are", "FIRST", ""},
		{"a pattern is not one", "f.rst", ""},
		{"a commit that HEAD does not reach is not found", "feature", ""},
		{"headers are not the message", "a@example.com", ""},
	}
	for layout, arrange := range layouts {
		r := gittest.Sample(t, t.TempDir())
		hashes := map[string]plumbing.Hash{}
		head, err := r.Store.Reference("refs/heads/main")
		gittest.Must(t, err)
		hashes["main"] = head.Hash()
		c := r.GetCommit(head.Hash())
		hashes["first"] = c.ParentHashes[0]
		arrange(r)
		for _, c := range rules {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				want := ""
				if c.want != "" {
					want = hashes[c.want].String()[:7]
				}
				got, err := gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: c.text})
				if err != nil || got.Hash != want {
					t.Errorf("got %q, %v; want %q", got.Hash, err, want)
				}
			})
		}
	}
}

func TestFindCommitFromHead(t *testing.T) {
	cases := map[string]struct {
		arrange func(*gittest.Repo, plumbing.Hash)
		want    bool
	}{
		"a branch":    {func(r *gittest.Repo, h plumbing.Hash) { r.Branch("main", h) }, true},
		"detached":    {func(r *gittest.Repo, h plumbing.Hash) { gittest.Write(r.TB, r.Dot+"/HEAD", h.String()+"\n") }, true},
		"unborn":      {func(*gittest.Repo, plumbing.Hash) {}, false},
		"an old link": {func(r *gittest.Repo, h plumbing.Hash) { linkHead(r, h) }, true},
		"without newline": {func(r *gittest.Repo, h plumbing.Hash) {
			r.Branch("main", h)
			gittest.Write(r.TB, r.Dot+"/HEAD", "ref: refs/heads/main")
		}, true},
	}
	for name, c := range cases {
		t.Run("HEAD is "+name, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			h := r.Commit("findme\n", 1, r.Tree())
			c.arrange(r, h)
			want := ""
			if c.want {
				want = h.String()[:7]
			}
			got, err := gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: "findme"})
			if err != nil || got.Hash != want {
				t.Errorf("got %q, %v; want %q", got.Hash, err, want)
			}
		})
	}
}

func linkHead(r *gittest.Repo, h plumbing.Hash) {
	r.Branch("main", h)
	gittest.Must(r.TB, os.Remove(r.Dot+"/HEAD"))
	gittest.Symlink(r.TB, "refs/heads/main", r.Dot+"/HEAD")
}

func TestInvalidRequests(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	ops := gittest.Granted(r.Dir)
	for _, name := range []string{"", "-x", "--all", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "@",
		".a", "a/.b", "a.lock", "a/b.lock/c", "a/", "/a", "a//b", "a.", "a\x00b", "a\x7fb", "a\nb", "HEAD", strings.Repeat("a/", 600) + "a"} {
		t.Run(fmt.Sprintf("the branch %.20q is refused", name), func(t *testing.T) {
			_, err := ops.BranchExists(t.Context(), abi.GitBranch{Repo: r.Dir, Branch: name})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
			_, err = ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: name, Path: "notes.txt"})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, path := range []string{"", "/", "/notes.txt", "../notes.txt", "./notes.txt", ".", "dir/", "dir//deep.txt", "dir/../notes.txt", "a\x00b",
		strings.Repeat("a/", 3000) + "a"} {
		t.Run(fmt.Sprintf("the path %.20q is refused", path), func(t *testing.T) {
			_, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: path})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, text := range []string{"", strings.Repeat("x", 1025)} {
		t.Run(fmt.Sprintf("a search text of %d bytes is refused", len(text)), func(t *testing.T) {
			_, err := ops.FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: text})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, dir := range []string{"", "relative", "./x", "/a\x00b", "/" + strings.Repeat("a", 5000)} {
		t.Run(fmt.Sprintf("the repository %.20q is refused", dir), func(t *testing.T) {
			_, err := ops.BranchExists(t.Context(), abi.GitBranch{Repo: dir, Branch: "main"})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFileSizeIsLimited(t *testing.T) {
	for layout, pack := range map[string]bool{"loose": false, "packed": true} {
		r := gittest.New(t, t.TempDir())
		fits, over := strings.Repeat("f", 1000), strings.Repeat("o", 1001)
		// The file has two versions, so that one of them is packed as a delta.
		old := r.Commit("old\n", 1, r.Tree(gittest.File("over", r.Blob(over+"and more"))))
		r.Branch("main", r.Commit("new\n", 2, r.Tree(gittest.File("fits", r.Blob(fits)), gittest.File("over", r.Blob(over))), old))
		if pack {
			r.Pack(true)
		}
		ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir}}, MaxFile: 1000})
		t.Run(layout+": a file of the limit's size is read", func(t *testing.T) {
			got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: "fits"})
			if err != nil || string(got.Content) != fits {
				t.Errorf("got %d bytes, %v", len(got.Content), err)
			}
		})
		t.Run(layout+": a larger file is an error that says so", func(t *testing.T) {
			got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: "over"})
			if got.Found || len(got.Content) > 0 || gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "1001 bytes, more than the limit of 1000") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCanceledContextEndsOperation(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := gittest.Granted(r.Dir).FindCommit(ctx, abi.GitSearch{Repo: r.Dir, Text: "first"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestUnsupportedRepositoryFormatsFail(t *testing.T) {
	cases := []struct{ config, why string }{
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n", "SHA-256"},
		{"[core]\n\trepositoryformatversion = 2\n", `version "2"`},
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n", "extensions.refstorage"},
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tfuture = x\n", "extensions.future"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			r := gittest.Sample(t, filepath.Join(t.TempDir(), "r"))
			gittest.Write(t, r.Dot+"/config", c.config)
			_, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir})
			if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why) {
				t.Errorf("status: got %v", err)
			}
			_, err = gittest.Writer(r.Dir).CommitBranch(t.Context(), abi.GitNewCommit{Repo: r.Dir, Branch: "b", Message: "m",
				Changes: []abi.GitChange{{Path: "a"}}})
			if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why) {
				t.Errorf("commit: got %v", err)
			}
		})
	}
}
