package objects_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestCheckNewPath(t *testing.T) {
	for _, path := range []string{"a", "a/b", ".gitignore", ".github/x", "a.git/b", "git", "~1", "x~1", ".gitx", "...a", "ü", "a b", " a", "gitx~1", "a:b", `a\b`} {
		t.Run(fmt.Sprintf("%q is accepted", path), func(t *testing.T) {
			if err := objects.CheckNewPath(path); err != nil {
				t.Error(err)
			}
		})
	}
	for _, path := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", "./a", ".", "a\x00b", "a\xff", ".git", ".git/hooks/x", "a/.git/x", ".GIT/x", ".Git",
		".git.", ".git ", ".git. . ", ".git::$INDEX_ALLOCATION/x", ".git:x", "git~1/x", "GIT~1", "git~12", ".g\u200cit/config", "\ufeff.git", ".gi\u206ft/x",
		`.git\hooks\x`, `a\.git\x`, `..\x`, "a/.. /b", "...", ". ", ".gitmodules", ".GitModules", "gitmod~1", "GI7EBA~9", ".gitmodules ", "sub/.gitmodules"} {
		t.Run(fmt.Sprintf("%q is refused", path), func(t *testing.T) {
			if err := objects.CheckNewPath(path); gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzNewPath checks that git accepts trees whose paths checkNewPath accepts.
func FuzzNewPath(f *testing.F) {
	for _, seed := range []string{"a", "a/b", ".git/x", ".GIT", "git~1", "a\\b", ".g\u200cit", "a:b", "x/...", " "} {
		f.Add(seed)
	}
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	f.Fuzz(func(t *testing.T, path string) {
		if objects.CheckNewPath(path) != nil || len(path) > 200 {
			return
		}
		r := gittest.Sample(t, t.TempDir())
		gittest.Must(t, os.Remove(r.Dot+"/refs/heads/main"))
		r.Branch("main", r.Commit("m\n", 1, r.Tree()))
		r.Branch("feature/x", r.Commit("m\n", 1, r.Tree()))
		gittest.Must(t, os.RemoveAll(r.Dot+"/objects/pack"))
		_, err := gittest.Writer(r.Dir).CommitBranch(t.Context(), gittest.NewCommit(r, gittest.Text(path, "x")))
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		gittest.Git(t, r.Dir, "-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "read-tree", "--index-output="+r.Dot+"/probe", "new")
	})
}
