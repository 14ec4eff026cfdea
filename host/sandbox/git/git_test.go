package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

// layouts are the same repository, stored in each of the ways that git has.
var layouts = map[string]func(*repo){
	"loose objects and references":  func(*repo) {},
	"packed objects":                func(r *repo) { r.pack(false) },
	"packed objects, bases by hash": func(r *repo) { r.pack(true) },
	"packed references":             func(r *repo) { must(r.tb, r.st.PackRefs()) },
	"all packed":                    func(r *repo) { r.pack(false); must(r.tb, r.st.PackRefs()) },
	"objects in an alternate inside of the grant, by a relative path": func(r *repo) {
		moveObjects(r, "../../store")
	},
	"objects in an alternate inside of the grant, by an absolute path": func(r *repo) {
		moveObjects(r, filepath.Join(r.dir, "store"))
	},
}

func moveObjects(r *repo, pointer string) {
	must(r.tb, os.Rename(filepath.Join(r.dot, "objects"), filepath.Join(r.dir, "store")))
	write(r.tb, filepath.Join(r.dot, "objects", "info", "alternates"), "# where they are\n"+pointer+"\n")
}

func TestBranchExists(t *testing.T) {
	rules := []struct {
		rule, branch string
		want         bool
	}{
		{"a branch exists", "main", true},
		{"a branch with a slash exists", "feature/x", true},
		{"the folder of a branch is no branch", "feature", false},
		{"a name below a branch is no branch", "main/x", false},
		{"an unknown branch does not exist", "other", false},
		{"the end of a branch's name is no branch", "x", false},
		{"a name longer than a file's may be does not exist", strings.Repeat("n", 300), false},
	}
	for layout, arrange := range layouts {
		r := sample(t, t.TempDir())
		arrange(r)
		for _, c := range rules {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				got, err := granted(r.dir).BranchExists(t.Context(), abi.GitBranch{Repo: r.dir, Branch: c.branch})
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
		{"a file in a folder is read", "main", "dir/deep.txt", found("deep\n")},
		{"an unknown file is not found", "main", "nope.txt", abi.GitContent{}},
		{"a file that another branch has is not found", "feature/x", "dir/deep.txt", abi.GitContent{}},
		{"an unknown branch has no files", "other", "notes.txt", abi.GitContent{}},
		{"a folder is no file", "main", "dir", abi.GitContent{}},
		{"a link is no file", "main", "link", abi.GitContent{}},
		{"a submodule is no file", "main", "sub", abi.GitContent{}},
		{"nothing is below a file", "main", "notes.txt/x", abi.GitContent{}},
		{"nothing is below a submodule", "main", "sub/x", abi.GitContent{}},
		{"nothing is below a link", "main", "link/x", abi.GitContent{}},
	}
	for layout, arrange := range layouts {
		r := sample(t, t.TempDir())
		arrange(r)
		for _, c := range rules {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				got, err := granted(r.dir).ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: c.branch, Path: c.path})
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
		r := sample(t, t.TempDir())
		hashes := map[string]plumbing.Hash{}
		head, err := r.st.Reference("refs/heads/main")
		must(t, err)
		hashes["main"] = head.Hash()
		c := mustCommit(t, r, head.Hash())
		hashes["first"] = c.ParentHashes[0]
		arrange(r)
		for _, c := range rules {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				want := ""
				if c.want != "" {
					want = hashes[c.want].String()[:7]
				}
				got, err := granted(r.dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.dir, Text: c.text})
				if err != nil || got.Hash != want {
					t.Errorf("got %q, %v; want %q", got.Hash, err, want)
				}
			})
		}
	}
}

func TestHead(t *testing.T) {
	cases := map[string]struct {
		arrange func(*repo, plumbing.Hash)
		want    bool
	}{
		"a branch":    {func(r *repo, h plumbing.Hash) { r.branch("main", h) }, true},
		"detached":    {func(r *repo, h plumbing.Hash) { write(r.tb, r.dot+"/HEAD", h.String()+"\n") }, true},
		"unborn":      {func(*repo, plumbing.Hash) {}, false},
		"an old link": {func(r *repo, h plumbing.Hash) { linkHead(r, h) }, true},
		"without newline": {func(r *repo, h plumbing.Hash) {
			r.branch("main", h)
			write(r.tb, r.dot+"/HEAD", "ref: refs/heads/main")
		}, true},
	}
	for name, c := range cases {
		t.Run("HEAD is "+name, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			h := r.commit("findme\n", 1, r.tree())
			c.arrange(r, h)
			want := ""
			if c.want {
				want = h.String()[:7]
			}
			got, err := granted(r.dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.dir, Text: "findme"})
			if err != nil || got.Hash != want {
				t.Errorf("got %q, %v; want %q", got.Hash, err, want)
			}
		})
	}
}

func linkHead(r *repo, h plumbing.Hash) {
	r.branch("main", h)
	must(r.tb, os.Remove(r.dot+"/HEAD"))
	symlink(r.tb, "refs/heads/main", r.dot+"/HEAD")
}

func TestInvalidRequests(t *testing.T) {
	r := sample(t, t.TempDir())
	ops := granted(r.dir)
	for _, name := range []string{"", "-x", "--all", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "@",
		".a", "a/.b", "a.lock", "a/b.lock/c", "a/", "/a", "a//b", "a.", "a\x00b", "a\x7fb", "a\nb", "HEAD", strings.Repeat("a/", 600) + "a"} {
		t.Run(fmt.Sprintf("the branch %.20q is refused", name), func(t *testing.T) {
			_, err := ops.BranchExists(t.Context(), abi.GitBranch{Repo: r.dir, Branch: name})
			if code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
			_, err = ops.ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: name, Path: "notes.txt"})
			if code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, path := range []string{"", "/", "/notes.txt", "../notes.txt", "./notes.txt", ".", "dir/", "dir//deep.txt", "dir/../notes.txt", "a\x00b",
		strings.Repeat("a/", 3000) + "a"} {
		t.Run(fmt.Sprintf("the path %.20q is refused", path), func(t *testing.T) {
			_, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: "main", Path: path})
			if code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, text := range []string{"", strings.Repeat("x", 1025)} {
		t.Run(fmt.Sprintf("a text of %d bytes is refused", len(text)), func(t *testing.T) {
			_, err := ops.FindCommit(t.Context(), abi.GitSearch{Repo: r.dir, Text: text})
			if code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, dir := range []string{"", "relative", "./x", "/a\x00b", "/" + strings.Repeat("a", 5000)} {
		t.Run(fmt.Sprintf("the repository %.20q is refused", dir), func(t *testing.T) {
			_, err := ops.BranchExists(t.Context(), abi.GitBranch{Repo: dir, Branch: "main"})
			if code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFileSizeIsLimited(t *testing.T) {
	for layout, pack := range map[string]bool{"loose": false, "packed": true} {
		r := newRepo(t, t.TempDir())
		fits, over := strings.Repeat("f", 1000), strings.Repeat("o", 1001)
		// Two versions of a file, so that one of them is packed as a delta.
		old := r.commit("old\n", 1, r.tree(file("over", r.blob(over+"and more"))))
		r.branch("main", r.commit("new\n", 2, r.tree(file("fits", r.blob(fits)), file("over", r.blob(over))), old))
		if pack {
			r.pack(true)
		}
		ops := newOps(git.Config{Grants: []git.Grant{{Repo: r.dir}}, MaxFile: 1000})
		t.Run(layout+": a file of the limit's size is read", func(t *testing.T) {
			got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: "main", Path: "fits"})
			if err != nil || string(got.Content) != fits {
				t.Errorf("got %d bytes, %v", len(got.Content), err)
			}
		})
		t.Run(layout+": a larger file is an error that says so", func(t *testing.T) {
			_, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: "main", Path: "over"})
			if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "1001 bytes, over the limit of 1000") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEndedContextEndsTheOperation(t *testing.T) {
	r := sample(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := granted(r.dir).FindCommit(ctx, abi.GitSearch{Repo: r.dir, Text: "first"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A context that ends while history is walked is seen within the walk: this one ends by being asked.
type askedContext struct {
	context.Context
	left int
}

func (c *askedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestContextThatEndsInTheWalkEndsTheWalk(t *testing.T) {
	r := history(t, 100, 1)
	ctx := &askedContext{t.Context(), 20}
	_, err := granted(r.dir).FindCommit(ctx, abi.GitSearch{Repo: r.dir, Text: "not there"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTopLevel(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, dir+"/repo/.git")
	mkdir(t, dir+"/repo/a/b")
	write(t, dir+"/repo/tree/.git", "gitdir: elsewhere\n")
	mkdir(t, dir+"/repo/tree/c")
	cases := map[string]struct{ dir, want string }{
		"the top level itself":                    {"/repo", "/repo"},
		"a folder below it":                       {"/repo/a/b", "/repo"},
		"a folder that is not there yet":          {"/repo/a/new", "/repo"},
		"a nested one whose .git is a file":       {"/repo/tree/c", "/repo/tree"},
		"the .git folder belongs to its worktree": {"/repo/.git", "/repo"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := git.TopLevel(dir + c.dir)
			if !ok || got != dir+c.want {
				t.Errorf("got %q, %v; want %q", got, ok, dir+c.want)
			}
		})
	}
	t.Run("no repository", func(t *testing.T) {
		if top, ok := git.TopLevel("/"); ok {
			t.Skipf("the machine's root is a repository: %s", top)
		}
		if got, ok := git.TopLevel(dir); ok && strings.HasPrefix(got, dir) {
			t.Errorf("got %q", got)
		}
	})
}
