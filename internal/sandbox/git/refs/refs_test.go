package refs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestHostileReferencesFail(t *testing.T) {
	ref := func(r *gittest.Repo, name, content string) { gittest.Write(r.TB, filepath.Join(r.Dot, name), content) }
	hash := strings.Repeat("ab", 20)
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo)
		why     string
	}{
		{"a reference to itself", func(r *gittest.Repo) { ref(r, "refs/heads/main", "ref: refs/heads/main") }, "cycle"},
		{"references in a circle", func(r *gittest.Repo) {
			ref(r, "refs/heads/main", "ref: refs/heads/b")
			ref(r, "refs/heads/b", "ref: refs/heads/main")
		}, "cycle"},
		{"a chain of references deeper than git's", func(r *gittest.Repo) {
			ref(r, "refs/heads/main", "ref: refs/heads/c0")
			for i := range 10 {
				ref(r, fmt.Sprintf("refs/heads/c%d", i), fmt.Sprintf("ref: refs/heads/c%d", i+1))
			}
			ref(r, "refs/heads/c10", hash)
		}, "deeper than 5"},
		{"a reference to a file of the repository", func(r *gittest.Repo) { ref(r, "refs/heads/main", "ref: config") }, "not a valid reference"},
		{"a reference out of the references", func(r *gittest.Repo) { ref(r, "refs/heads/main", "ref: refs/../config") }, "not a valid reference"},
		{"a reference to an absolute path", func(r *gittest.Repo) { ref(r, "refs/heads/main", "ref: /etc/passwd") }, "not a valid reference"},
		{"an empty reference", func(r *gittest.Repo) { ref(r, "refs/heads/main", "ref: \n") }, "does not contain the name of a reference"},
		{"a reference that is no hash", func(r *gittest.Repo) { ref(r, "refs/heads/main", "\xff\xfe"+hash) }, "is not a hash"},
		{"an empty reference", func(r *gittest.Repo) { ref(r, "refs/heads/main", "") }, "is not a hash"},
		{"an endless reference", func(r *gittest.Repo) { ref(r, "refs/heads/main", strings.Repeat("a", 1<<20)) }, "larger than 8192 bytes"},
		{"a SHA-256 repository", func(r *gittest.Repo) { ref(r, "refs/heads/main", strings.Repeat("ab", 32)+"\n") }, "SHA-256"},
		{"a packed reference that is no hash", func(r *gittest.Repo) { ref(r, "packed-refs", "# x\n"+hash+"0 refs/heads/main\n") }, "line 2"},
		{"packed references of one endless line", func(r *gittest.Repo) { ref(r, "packed-refs", strings.Repeat("a", 1<<20)) }, "buffer full"},
		{"packed references of a terabyte", func(r *gittest.Repo) {
			ref(r, "packed-refs", "")
			gittest.Must(r.TB, os.Truncate(r.Dot+"/packed-refs", 1<<40))
		}, "packed-refs: larger than"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			c.arrange(r)
			gittest.FailsWith(t, c.why, gittest.HasBranch(r))
		})
	}
}

// FuzzBranchName checks that an accepted name contains nothing that git forbids, and is a local path.
func FuzzBranchName(f *testing.F) {
	for _, seed := range []string{"main", "feature/x", "", "-x", "a..b", "a@{b", "@", "a.lock", "a/.b", "../../HEAD", "a\\b", "ünï", "a\x00", "HEAD", "a//b"} {
		f.Add(seed)
	}
	r := gittest.New(f, f.TempDir())
	ops := gittest.Granted(r.Dir)
	f.Fuzz(func(t *testing.T, name string) {
		found, err := ops.BranchExists(t.Context(), abi.GitBranch{Repo: r.Dir, Branch: name})
		if found {
			t.Fatalf("%q exists in an empty repository", name)
		}
		switch gittest.Code(err) {
		case abi.HostInvalid:
			return
		case "":
		default:
			t.Fatalf("%q: %v", name, err)
		}
		if strings.ContainsAny(name, " ~^:?*[\\\x00\x7f\n\t") || strings.HasPrefix(name, "-") || strings.Contains(name, "..") ||
			strings.Contains(name, "@{") || strings.HasSuffix(name, ".lock") || !filepath.IsLocal(name) || filepath.Clean(name) != name {
			t.Fatalf("%q was accepted", name)
		}
	})
}

// FuzzBranchNameAgainstGit checks that exactly those names are accepted that git accepts.
func FuzzBranchNameAgainstGit(f *testing.F) {
	for _, seed := range []string{"main", "feature/x", "", "-x", "a..b", "a@{b", "@", "a/@", "a.lock", "a/.b", "a\\b", "ünï", "HEAD", "a//b", "a.", "a/b.lock/c", "é", "a\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := refs.CheckBranch(name)
		if _, lookErr := exec.LookPath("git"); lookErr != nil {
			t.Skip("NOT CHECKED against git: the git program is not on PATH")
		}
		if strings.ContainsRune(name, 0) || len(name) > 1000 {
			if err == nil {
				t.Fatalf("%q was accepted", name)
			}
			return
		}
		gitErr := exec.Command("git", "check-ref-format", "--branch", name).Run()
		// The check is stricter than git's: no component may be "@", whereas git only refuses "@" as the whole name.
		if strings.Contains("/"+name+"/", "/@/") || strings.HasPrefix(name, "@{-") {
			gitErr = os.ErrInvalid
		}
		if (err == nil) != (gitErr == nil) {
			t.Fatalf("%q: got %v, git says %v", name, err, gitErr)
		}
	})
}
