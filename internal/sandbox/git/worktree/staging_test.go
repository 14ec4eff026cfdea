//go:build unix

package worktree_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// lockIndex locks the index of a repository.
func lockIndex(t *testing.T, dir string) (*worktree.Staging, *objects.Store) {
	t.Helper()
	r := gittest.Open(t, dir)
	staging, err := worktree.LockIndex(t.Context(), r, nil)
	gittest.Must(t, err)
	t.Cleanup(staging.Release)
	store, err := objects.Open(t.Context(), r)
	gittest.Must(t, err)
	t.Cleanup(store.Close)
	return staging, store
}

func TestTreeOfIndexIsGits(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo)
	}{
		{"a clean repository", func(*gittest.Repo) {}},
		{"names that sort apart", func(r *gittest.Repo) {
			for _, name := range []string{"a.b", "a/b", "a/c/d", "a0", "a/b-c", "z/z/z", "dir.x", "dir0"} {
				gittest.Write(r.TB, r.Dir+"/"+name, name)
			}
			gittest.Git(r.TB, r.Dir, "add", ".")
		}},
		{"no file", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "rm", "-rq", "--cached", ".") }},
		{"an intent to add, alone in its directory", func(r *gittest.Repo) {
			gittest.Write(r.TB, r.Dir+"/new/x", "x")
			gittest.Git(r.TB, r.Dir, "add", "--intent-to-add", "new/x")
		}},
		{"a submodule whose commit is absent", func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",sub")
		}},
		{"a packed repository", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "gc", "--quiet") }},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			c.arrange(r)
			staging, store := lockIndex(t, r.Dir)
			batch := store.NewBatch()
			tree, err := staging.Tree(store, batch)
			gittest.Must(t, err)
			gittest.Must(t, batch.Write())
			staging.Release()
			gittest.Git(t, r.Dir, "fsck", "--strict", "--no-dangling", tree.String())
			if want := gittest.Git(t, r.Dir, "write-tree"); tree.String() != want {
				t.Errorf("the tree is %s, git's is %s", tree, want)
			}
		})
	}
}

func TestTreeOfIndexRefuses(t *testing.T) {
	cases := []struct {
		rule, why string
		arrange   func(*gittest.Repo)
	}{
		{"a conflict", "unmerged paths (notes.txt)", conflict},
		{"an absent object", "notes.txt: the object", func(r *gittest.Repo) {
			hash := gittest.Git(r.TB, r.Dir, "rev-parse", "HEAD:notes.txt")
			gittest.Must(r.TB, os.Remove(r.Dot+"/objects/"+hash[:2]+"/"+hash[2:]))
		}},
		{"a path that becomes a .git", "into .git", func(r *gittest.Repo) {
			index := indexOf(2, 1, indexEntry(0o100644, 13, ".GIT/hooks/xy"))
			gittest.Must(r.TB, os.WriteFile(r.Dot+"/index", index, 0o644))
		}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			c.arrange(r)
			staging, store := lockIndex(t, r.Dir)
			if _, err := staging.Tree(store, store.NewBatch()); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error with %q", err, c.why)
			}
		})
	}
}

func TestResetOfIndexIsGits(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo)
	}{
		{"a clean repository", func(*gittest.Repo) {}},
		{"staged changes", func(r *gittest.Repo) {
			gittest.Write(r.TB, r.Dir+"/notes.txt", "new\n")
			gittest.Write(r.TB, r.Dir+"/added", "new\n")
			gittest.Must(r.TB, os.Remove(r.Dir+"/empty.txt"))
			gittest.Must(r.TB, os.Chmod(r.Dir+"/run.sh", 0o644))
			gittest.Must(r.TB, os.Remove(r.Dir+"/dir/deep.txt"))
			gittest.Must(r.TB, os.Remove(r.Dir+"/dir"))
			gittest.Write(r.TB, r.Dir+"/dir", "a file")
			gittest.Git(r.TB, r.Dir, "add", "--all")
		}},
		{"an intent to add", func(r *gittest.Repo) {
			gittest.Write(r.TB, r.Dir+"/new", "x")
			gittest.Git(r.TB, r.Dir, "add", "--intent-to-add", "new")
		}},
		{"a flag of an unchanged entry", func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "update-index", "--assume-unchanged", "notes.txt")
		}},
		{"a conflict", conflict},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			c.arrange(r)
			original, err := os.ReadFile(r.Dot + "/index")
			gittest.Must(t, err)
			shown := func() string {
				return gittest.Git(t, r.Dir, "ls-files", "--stage", "-v") + "\n" + gittest.Git(t, r.Dir, "status", "--porcelain")
			}
			staging, store := lockIndex(t, r.Dir)
			gittest.Must(t, staging.Reset(store, plumbing.NewHash(gittest.Git(t, r.Dir, "rev-parse", "HEAD^{tree}"))))
			gittest.Must(t, staging.Write())
			got := shown()
			gittest.Must(t, os.WriteFile(r.Dot+"/index", original, 0o644))
			gittest.Git(t, r.Dir, "reset", "--quiet")
			if want := shown(); got != want {
				t.Errorf("after the reset git shows\n%s\nand after git reset\n%s", got, want)
			}
		})
	}
}

// A file of the same size that was changed within the tick of the clock in which the index was written has the stat data of the index. Once
// the index is younger than the file, only the size 0 in the index makes git read the file.
func TestWrittenIndexHasNoRacilyCleanEntry(t *testing.T) {
	r := gittest.GitSample(t)
	name := r.Dir + "/notes.txt"
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	gittest.Must(t, os.Chtimes(name, at, at))
	gittest.Git(t, r.Dir, "-c", "core.trustctime=false", "add", ".")
	gittest.Write(t, name, "evil\n")
	gittest.Must(t, os.Chtimes(name, at, at))
	restat(t, r.Dot+"/index", name)
	gittest.Must(t, os.Chtimes(r.Dot+"/index", at, at))
	staging, _ := lockIndex(t, r.Dir)
	gittest.Must(t, staging.Write())
	if got := gittest.Git(t, r.Dir, "status", "--porcelain"); got != "M notes.txt" { // gittest.Git trims the first space
		t.Errorf("git shows %q", got)
	}
	if got := gittest.Git(t, r.Dir, "ls-files", "--debug", "notes.txt"); !strings.Contains(got, "size: 0") {
		t.Errorf("the entry has a size: %s", got)
	}
}

// restat sets the time of the last status change that an index of version 2 records for a file to that of the file.
func restat(t *testing.T, index, file string) {
	t.Helper()
	data, err := os.ReadFile(index)
	gittest.Must(t, err)
	data = worktree.Restat(t, data, file, "notes.txt")
	gittest.Must(t, os.WriteFile(index, data, 0o644))
}

// Git writes the size 0 to force a comparison of the contents. That is no proof that an empty file is unchanged.
func TestEmptyFileIsComparedWithSmudgedEntry(t *testing.T) {
	r := gittest.GitSample(t)
	name := r.Dir + "/notes.txt"
	gittest.Write(t, name, "")
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	gittest.Must(t, os.Chtimes(name, at, at))
	restat(t, r.Dot+"/index", name)
	want := gittest.Git(t, r.Dir, "status", "--porcelain")
	status, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir})
	gittest.Must(t, err)
	if want != "M notes.txt" || len(status.Paths) != 1 || status.Paths[0].Path != "notes.txt" || status.Paths[0].Unstaged != "M" {
		t.Errorf("the status is %+v, git shows %q", status, want)
	}
}
