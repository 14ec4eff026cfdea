//go:build unix

package worktree_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree"
)

// withoutCaches returns an index without the extensions that are caches, and without its checksum.
func withoutCaches(t *testing.T, data []byte) []byte {
	t.Helper()
	data = data[:len(data)-20]
	for _, name := range []string{"TREE", "UNTR", "FSMN", "EOIE", "IEOT"} {
		for at := bytes.LastIndex(data, []byte(name)); at >= 0; at = bytes.LastIndex(data, []byte(name)) {
			size := int(data[at+4])<<24 | int(data[at+5])<<16 | int(data[at+6])<<8 | int(data[at+7])
			data = append(bytes.Clone(data[:at]), data[at+8+size:]...)
		}
	}
	return data
}

func TestEncodedIndexIsGits(t *testing.T) {
	long := strings.Repeat("d/", 150) + strings.Repeat("n", 200)
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo)
	}{
		{"a clean repository", func(*gittest.Repo) {}},
		{"many files", func(r *gittest.Repo) {
			for i := range 300 {
				gittest.Write(r.TB, fmt.Sprintf("%s/many/%d/n%s", r.Dir, i%7, strings.Repeat("x", i%200)), "x")
			}
			gittest.Write(r.TB, r.Dir+"/"+long, "x")
			gittest.Git(r.TB, r.Dir, "add", ".")
		}},
		{"no file", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "rm", "-rq", "--cached", ".") }},
		{"an intent to add", func(r *gittest.Repo) {
			gittest.Write(r.TB, r.Dir+"/new", "x")
			gittest.Git(r.TB, r.Dir, "add", "--intent-to-add", "new")
		}},
		{"flags of entries", func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "update-index", "--assume-unchanged", "notes.txt")
			gittest.Git(r.TB, r.Dir, "update-index", "--skip-worktree", "empty.txt")
		}},
		{"a submodule", func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",sub")
		}},
		{"an untracked cache", func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "update-index", "--force-untracked-cache") }},
		{"a conflict", conflict},
		{"a resolved conflict", func(r *gittest.Repo) {
			conflict(r)
			gittest.Git(r.TB, r.Dir, "add", "notes.txt")
		}},
	}
	for _, c := range cases {
		for _, version := range []string{"2", "3", "4"} {
			t.Run(c.rule+", version "+version, func(t *testing.T) {
				r := gittest.GitSample(t)
				c.arrange(r)
				gittest.Git(t, r.Dir, "update-index", "--index-version", version)
				name := r.Dot + "/index"
				data, err := os.ReadFile(name)
				gittest.Must(t, err)
				got, err := worktree.EncodeIndex(t.Context(), data)
				gittest.Must(t, err)
				if want := withoutCaches(t, data); !bytes.Equal(got[:len(got)-20], want) {
					t.Fatalf("the index differs:\n got %q\nwant %q", got, want)
				}
				before := gittest.Git(t, r.Dir, "status", "--porcelain") + gittest.Git(t, r.Dir, "ls-files", "--stage", "--debug", "-v")
				gittest.Must(t, os.WriteFile(name, got, 0o644))
				after := gittest.Git(t, r.Dir, "status", "--porcelain") + gittest.Git(t, r.Dir, "ls-files", "--stage", "--debug", "-v")
				if before != after {
					t.Errorf("git shows\n%s\nand before\n%s", after, before)
				}
			})
		}
	}
}

// conflict makes notes.txt an unmerged path.
func conflict(r *gittest.Repo) {
	gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "-b", "other")
	gittest.Write(r.TB, r.Dir+"/notes.txt", "theirs\n")
	gittest.Git(r.TB, r.Dir, "commit", "--quiet", "--all", "--message=theirs")
	gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "main")
	gittest.Write(r.TB, r.Dir+"/notes.txt", "ours\n")
	gittest.Git(r.TB, r.Dir, "commit", "--quiet", "--all", "--message=ours")
	merge := exec.Command("git", "-c", "user.name=A", "-c", "user.email=a@example.com", "merge", "other")
	merge.Dir = r.Dir
	if out, err := merge.CombinedOutput(); err == nil {
		r.TB.Fatalf("the merge has no conflict: %s", out)
	}
}
