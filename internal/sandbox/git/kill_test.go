//go:build unix

package git_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// states runs do and returns copies of the directory dir: one for each state that a kill between two system calls on files would leave.
func states(t *testing.T, dir string, do func() error) []string {
	t.Helper()
	var all []string
	last := gittest.Snapshot(t, dir)
	keep := func() {
		now := gittest.Snapshot(t, dir)
		if maps.Equal(now, last) {
			return
		}
		last = now
		copied := filepath.Join(t.TempDir(), "killed")
		gittest.Must(t, os.CopyFS(copied, os.DirFS(dir)))
		all = append(all, copied)
	}
	seam.Before = keep
	err := do()
	seam.Before = nil
	gittest.Must(t, err)
	keep()
	return all
}

// After a kill at any step the repository is sound, HEAD has the old or the new commit, and what stays besides is a lock that git and the
// next operation report, and that neither removes.
func TestKilledChangesLeaveSoundRepository(t *testing.T) {
	for rule, do := range map[string]func(*git.Ops, string) error{
		"commit": func(o *git.Ops, dir string) error {
			_, err := o.Commit(t.Context(), abi.GitIndexCommit{Repo: dir, Message: "x"})
			return err
		},
		"add": func(o *git.Ops, dir string) error {
			_, err := o.Add(t.Context(), abi.GitAdd{Repo: dir, Paths: []string{"."}}, gittest.Files{})
			return err
		},
		"create a branch": func(o *git.Ops, dir string) error {
			_, err := o.CreateBranch(t.Context(), abi.GitNewBranch{Repo: dir, Branch: "a/b", Commit: gittest.Git(t, dir, "rev-parse", "HEAD")})
			return err
		},
		"reset": func(o *git.Ops, dir string) error {
			_, err := o.Reset(t.Context(), abi.GitRepo{Repo: dir})
			return err
		},
	} {
		t.Run(rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			stage(r)
			before := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
			all := states(t, r.Dir, func() error { return do(gittest.Committer(r.Dir), r.Dir) })
			if len(all) < 2 {
				t.Fatalf("there are %d states", len(all))
			}
			after := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
			locked := 0
			for _, dir := range all {
				gittest.Git(t, dir, "fsck", "--strict", "--full")
				gittest.Git(t, dir, "status")
				if head := gittest.Git(t, dir, "rev-parse", "HEAD"); head != before && head != after {
					t.Errorf("HEAD is %s, neither %s nor %s", head, before, after)
				}
				locks := locksIn(t, dir)
				if len(locks) > 0 {
					locked++
					if err := do(gittest.Committer(dir), dir); err == nil || !strings.Contains(err.Error(), ".lock exists") {
						t.Errorf("with the locks %q the next operation returns %v", locks, err)
					}
					if left := locksIn(t, dir); len(left) != len(locks) {
						t.Errorf("the locks were %q and are %q", locks, left)
					}
				}
				for _, lock := range locks {
					gittest.Must(t, os.Remove(lock))
				}
				gittest.Write(t, dir+"/more", "x")
				gittest.Git(t, dir, "add", ".")
				gittest.Git(t, dir, "commit", "--quiet", "--message=more")
				gittest.Git(t, dir, "branch", "next")
				gittest.Git(t, dir, "fsck", "--strict", "--full")
			}
			if locked == 0 {
				t.Error("no state has a lock")
			}
			t.Logf("%d states, %d of them with locks", len(all), locked)
		})
	}
}

func locksIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	gittest.Must(t, filepath.WalkDir(dir+"/.git", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".lock") {
			all = append(all, name)
		}
		return err
	}))
	return all
}
