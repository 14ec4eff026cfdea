package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newRepository creates a repository in the directory repo of a temporary directory, and returns both, and a function that runs git there.
func newRepository(t *testing.T) (dir, repo string, git func(arguments ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo = filepath.Join(dir, "repo")
	git = func(arguments ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=A", "-c", "user.email=a@b", "-c", "core.excludesFile="}, arguments...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
		out, err := c.Output()
		if err != nil && arguments[0] != "merge" {
			t.Fatalf("git %q: %v", arguments, err)
		}
		return string(out)
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet", "--initial-branch=main")
	return dir, repo, git
}

// TestLinkInPlaceOfDirectoryIsNotFollowed compares the answers with those of git: a tracked file below a directory is deleted if a symbolic
// link has replaced the directory, wherever the link points, also if it has a merge conflict.
func TestLinkInPlaceOfDirectoryIsNotFollowed(t *testing.T) {
	dir, repo, git := newRepository(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, content string) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(name), 0o755))
		must(os.WriteFile(name, []byte(content), 0o644))
	}
	write(repo+"/a/f", "1\n")
	write(repo+"/inside/f", "of another directory\n")
	write(dir+"/outside/f", "of nobody's concern\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "one")
	git("checkout", "--quiet", "-b", "other")
	write(repo+"/a/f", "2\n")
	git("commit", "--quiet", "-a", "-m", "two")
	git("checkout", "--quiet", "main")
	s := newServer(t, repo)
	for _, conflict := range []bool{false, true} {
		if conflict {
			must(os.Remove(repo + "/a"))
			git("checkout", "--quiet", "--", "a")
			write(repo+"/a/f", "3\n")
			git("commit", "--quiet", "-a", "-m", "three")
			git("merge", "--quiet", "other")
		}
		for _, target := range []string{"inside", "../outside", "nowhere"} {
			must(os.RemoveAll(repo + "/a"))
			must(os.Symlink(target, repo+"/a"))
			unstaged := git("diff")
			if conflict { // git follows the link for its combined patch
				unstaged = "* Unmerged path a/f\n"
			}
			for tool, want := range map[string]string{"git_diff_unstaged": unstaged, "git_diff": git("diff", "HEAD"), "git_status": git("status")} {
				got, isError := s.call(tool, `{"repo_path":"`+repo+`","target":"HEAD"}`)
				_, got, _ = strings.Cut(got, "\n")
				if diff := cmp.Diff(strings.TrimSuffix(want, "\n"), got); isError || diff != "" {
					t.Errorf("%s with a link to %s, conflict %t (-want +got)\n%s", tool, target, conflict, diff)
				}
			}
		}
	}
}

// TestPathOfMissingObjectIsNoSubmodule shows paths of a tree whose objects are missing from the repository.
func TestPathOfMissingObjectIsNoSubmodule(t *testing.T) {
	_, repo, git := newRepository(t)
	const hash = "1111111111111111111111111111111111111111"
	git("update-index", "--add", "--cacheinfo", "100644,"+hash+",file", "--cacheinfo", "160000,"+hash+",module")
	tree := strings.TrimSpace(git("write-tree", "--missing-ok"))
	s := newServer(t, repo)
	for path, want := range map[string]string{
		"file":   "file: " + hash + " is missing from the repository",
		"module": "module: a submodule: its commits are in its own repository",
	} {
		want = "Error executing tool git_show: " + want
		if got, isError := s.call("git_show", `{"repo_path":"`+repo+`","revision":"`+tree+":"+path+`"}`); !isError || got != want {
			t.Errorf("%s: got %t %q, want %q", path, isError, got, want)
		}
	}
}
