//go:build unix

package repo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestNamedPipesFail(t *testing.T) {
	cases := []struct {
		part string // path of a named pipe in the repository
		ask  func(*gittest.Repo) func(context.Context) error
	}{
		{"HEAD", gittest.Find}, {"refs/heads/main", gittest.HasBranch}, {"commondir", gittest.HasBranch}, {"shallow", gittest.Find},
		{"objects/info/alternates", gittest.HasBranch}, {"objects/pack/pack-0.idx", gittest.Find}, {"", gittest.HasBranch},
	}
	for _, c := range cases {
		t.Run(".git/"+c.part+" is a named pipe", func(t *testing.T) {
			r := gittest.Sample(t, t.TempDir())
			gittest.Write(t, r.Dot+"/objects/pack/pack-0.pack", "")
			pipe := filepath.Join(r.Dot, c.part)
			gittest.Must(t, os.RemoveAll(pipe))
			gittest.Mkdir(t, filepath.Dir(pipe))
			gittest.Must(t, syscall.Mkfifo(pipe, 0o644))
			gittest.FailsWith(t, "not a regular file", c.ask(r))
		})
	}
	t.Run("packed-refs is a named pipe", func(t *testing.T) {
		r := gittest.New(t, t.TempDir())
		gittest.Must(t, syscall.Mkfifo(r.Dot+"/packed-refs", 0o644))
		gittest.FailsWith(t, "not a regular file", gittest.HasBranch(r))
	})
}

// FuzzRepositoryFiles checks that operations on a repository with arbitrary files end without a panic or hang. They may be denied only
// because of pointers to paths outside of the grant.
func FuzzRepositoryFiles(f *testing.F) {
	hash := strings.Repeat("ab", 20)
	f.Add([]byte("ref: refs/heads/main\n"), []byte(hash+" refs/heads/main\n"), []byte("[core]\n"), []byte("../../store\n"), []byte(hash))
	f.Add([]byte(hash+"\n"), []byte("# pack-refs\n^"+hash+"\n"), []byte("\xff"), []byte("\"a\\\n#\n"), []byte(hash+"\n"+hash))
	f.Add([]byte("ref:refs/heads/../x"), []byte("\n\n refs/heads/main"), []byte(""), []byte("."), []byte(""))
	r := gittest.Sample(f, f.TempDir())
	if err := os.Remove(r.Dot + "/refs/heads/main"); err != nil {
		f.Fatal(err)
	}
	ops := gittest.Granted(r.Dir)
	f.Fuzz(func(t *testing.T, head, packedRefs, config, alternates, shallow []byte) {
		for name, content := range map[string][]byte{"HEAD": head, "packed-refs": packedRefs, "config": config,
			"objects/info/alternates": alternates, "shallow": shallow} {
			gittest.Write(t, filepath.Join(r.Dot, name), string(content))
		}
		_, err1 := ops.BranchExists(t.Context(), abi.GitBranch{Repo: r.Dir, Branch: "main"})
		_, err2 := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "feature/x", Path: "notes.txt"})
		_, err3 := ops.FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: "first"})
		for _, err := range []error{err1, err2, err3} {
			c := gittest.Code(err)
			if c != "" && c != abi.HostFailed && c != abi.HostDenied || err != nil && strings.Contains(err.Error(), "is damaged: runtime error") {
				t.Fatal(err)
			}
			if c == abi.HostDenied && !strings.Contains(err.Error(), "alternates points to") {
				t.Fatal(err)
			}
		}
	})
}

func TestHostilePointersFail(t *testing.T) {
	ref := func(r *gittest.Repo, name, content string) { gittest.Write(r.TB, filepath.Join(r.Dot, name), content) }
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo)
		why     string
	}{
		{"a reftable repository", func(r *gittest.Repo) { gittest.Mkdir(r.TB, r.Dot+"/reftable") }, "reftable"},
		{"a .git file without a pointer", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.RemoveAll(r.Dot))
			gittest.Write(r.TB, r.Dot, "gitdir:\n")
		}, `not of the form "gitdir: DIRECTORY"`},
		{"a .git file of two lines", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.RemoveAll(r.Dot))
			gittest.Write(r.TB, r.Dot, "gitdir: a\nb\n")
		}, `not of the form "gitdir: DIRECTORY"`},
		{"a .git file that points to itself", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.RemoveAll(r.Dot))
			gittest.Write(r.TB, r.Dot, "gitdir: .git\n")
		}, "not a git repository"},
		{"a .git file that points to a directory that is gone", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.RemoveAll(r.Dot))
			gittest.Write(r.TB, r.Dot, "gitdir: gone\n")
		}, "not a git repository"},
		{"an empty commondir", func(r *gittest.Repo) { ref(r, "commondir", "\n") }, "does not name a directory"},
		{"alternates deeper than git's", func(r *gittest.Repo) {
			ref(r, "objects/info/alternates", "../../s0\n")
			for i := range 10 {
				gittest.Write(r.TB, fmt.Sprintf("%s/s%d/info/alternates", r.Dir, i), fmt.Sprintf("../s%d\n", i+1))
			}
		}, "alternates are nested more than"},
		{"very many alternates", func(r *gittest.Repo) {
			for i := range 100 {
				gittest.Write(r.TB, fmt.Sprintf("%s/s%d/x", r.Dir, i), "")
			}
			all := ""
			for i := range 100 {
				all += fmt.Sprintf("../../s%d\n", i)
			}
			ref(r, "objects/info/alternates", all)
		}, "more than 16 object directories"},
		{"endless alternates", func(r *gittest.Repo) { ref(r, "objects/info/alternates", strings.Repeat("x\n", 1<<20)) }, "larger than 65536 bytes"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			c.arrange(r)
			gittest.FailsWith(t, c.why, gittest.HasBranch(r))
		})
	}
}
