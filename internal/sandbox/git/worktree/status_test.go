//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// porcelain formats a status in the way of git status --porcelain.
func porcelain(s abi.GitStatus) (lines []string) {
	for _, p := range s.Paths {
		lines = append(lines, p.Staged+p.Unstaged+" "+p.Path)
	}
	slices.Sort(lines)
	return lines
}

// compareWithGit fails the test unless Status and git report the same for the working tree at dir.
func compareWithGit(t *testing.T, dir string) {
	t.Helper()
	got, err := gittest.Granted(dir).Status(t.Context(), abi.GitStatusQuery{Repo: dir})
	if err != nil || !got.Found {
		t.Fatalf("got %+v, %v", got, err)
	}
	// Run git last, since git refreshes the index.
	out := gittest.Git(t, dir, "-c", "status.renames=false", "status", "--porcelain", "-z", "--ignore-submodules=dirty")
	var want []string
	for line := range strings.SplitSeq(out, "\x00") {
		if line != "" {
			want = append(want, line)
		}
	}
	// gittest.Git trims the output, so the leading space has to be restored.
	if len(want) > 0 && len(want[0]) > 2 && want[0][1] == ' ' && want[0][2] != ' ' {
		want[0] = " " + want[0]
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, porcelain(got)); diff != "" {
		t.Errorf("git (-) and the operation (+) disagree:\n%s", diff)
	}
}

func TestStatusAgreesWithGit(t *testing.T) {
	testenv.NotShort(t, "starts git many times")
	cases := []struct {
		rule    string
		arrange func(t *testing.T, r *gittest.Repo)
	}{
		{"clean", func(*testing.T, *gittest.Repo) {}},
		{"changed", func(t *testing.T, r *gittest.Repo) { gittest.Write(t, r.Dir+"/notes.txt", "longer than it was\n") }},
		{"changed to the same size", func(t *testing.T, r *gittest.Repo) { gittest.Write(t, r.Dir+"/notes.txt", "niam\n") }},
		{"touched", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Chtimes(r.Dir+"/notes.txt", time.Now(), time.Now().Add(time.Hour)))
		}},
		{"deleted", func(t *testing.T, r *gittest.Repo) { gittest.Must(t, os.Remove(r.Dir+"/notes.txt")) }},
		{"deleted with its directory", func(t *testing.T, r *gittest.Repo) { gittest.Must(t, os.RemoveAll(r.Dir+"/dir")) }},
		{"staged", func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dir+"/notes.txt", "new\n")
			gittest.Write(t, r.Dir+"/added", "new\n")
			gittest.Git(t, r.Dir, "add", ".")
		}},
		{"staged and changed again", func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dir+"/notes.txt", "new\n")
			gittest.Write(t, r.Dir+"/added", "new\n")
			gittest.Git(t, r.Dir, "add", ".")
			gittest.Write(t, r.Dir+"/notes.txt", "newer\n")
			gittest.Must(t, os.Remove(r.Dir+"/added"))
		}},
		{"removed from the index alone", func(t *testing.T, r *gittest.Repo) {
			gittest.Git(t, r.Dir, "rm", "--quiet", "--cached", "notes.txt", "run.sh")
		}},
		{"the first and the last removed", func(t *testing.T, r *gittest.Repo) { gittest.Git(t, r.Dir, "rm", "--quiet", "dir/deep.txt", "run.sh") }},
		{"all removed", func(t *testing.T, r *gittest.Repo) { gittest.Git(t, r.Dir, "rm", "-r", "--quiet", ".") }},
		{"moved", func(t *testing.T, r *gittest.Repo) { gittest.Git(t, r.Dir, "mv", "notes.txt", "dir/moved") }},
		{"made executable", func(t *testing.T, r *gittest.Repo) { gittest.Must(t, os.Chmod(r.Dir+"/notes.txt", 0o755)) }},
		{"made executable, which is not heeded", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Chmod(r.Dir+"/notes.txt", 0o755))
			gittest.Git(t, r.Dir, "config", "core.fileMode", "false")
		}},
		{"a mode staged", func(t *testing.T, r *gittest.Repo) { gittest.Git(t, r.Dir, "update-index", "--chmod=-x", "run.sh") }},
		{"a link in a file's place", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Remove(r.Dir+"/notes.txt"))
			gittest.Symlink(t, "run.sh", r.Dir+"/notes.txt")
		}},
		{"and staged", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Remove(r.Dir+"/notes.txt"))
			gittest.Symlink(t, "run.sh", r.Dir+"/notes.txt")
			gittest.Git(t, r.Dir, "add", ".")
		}},
		{"a link with another target", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Remove(r.Dir+"/link"))
			gittest.Symlink(t, "empty.txt", r.Dir+"/link")
		}},
		{"a directory in a file's place", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Remove(r.Dir+"/notes.txt"))
			gittest.Write(t, r.Dir+"/notes.txt/x", "x")
		}},
		{"a file in a directory's place", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.RemoveAll(r.Dir+"/dir"))
			gittest.Write(t, r.Dir+"/dir", "x")
		}},
		{"a link in a directory's place", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dir+"/dir", r.Dir+"/real"))
			gittest.Symlink(t, "real", r.Dir+"/dir")
		}},
		{"untracked", func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dir+"/new", "x")
			gittest.Write(t, r.Dir+"/dir/new", "x")
			gittest.Write(t, r.Dir+"/folder/deep/new", "x")
			gittest.Mkdir(t, r.Dir+"/nothing/in/it")
			gittest.Symlink(t, "nowhere", r.Dir+"/dangling")
		}},
		{"ignored", func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dir+"/.gitignore", "*.log\nout/\n!keep.log\n/folder/**/x\n")
			gittest.Write(t, r.Dir+"/dir/.gitignore", "*\n!.gitignore\n!deep*\n")
			for _, name := range []string{"a.log", "keep.log", "out/x", "dir/x", "dir/deep2", "logs/a.log", "logs2/keep.log", "folder/a/x", "folder2/a/x", "dir/sub/deep3"} {
				gittest.Write(t, r.Dir+"/"+name, "x")
			}
		}},
		{"tracked in an ignored directory", func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dir+"/out/tracked", "x")
			gittest.Git(t, r.Dir, "add", ".")
			gittest.Write(t, r.Dir+"/.gitignore", "out\n")
			gittest.Write(t, r.Dir+"/out/tracked", "xx")
			gittest.Write(t, r.Dir+"/out/other", "x")
		}},
		{"to be added", func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dir+"/intent", "x")
			gittest.Git(t, r.Dir, "add", "--intent-to-add", "intent")
		}},
		{"assumed unchanged", func(t *testing.T, r *gittest.Repo) {
			gittest.Git(t, r.Dir, "update-index", "--assume-unchanged", "notes.txt")
			gittest.Git(t, r.Dir, "update-index", "--skip-worktree", "empty.txt")
			gittest.Write(t, r.Dir+"/notes.txt", "new\n")
			gittest.Must(t, os.Remove(r.Dir+"/empty.txt"))
		}},
		{"in a merge", func(t *testing.T, r *gittest.Repo) {
			gittest.Git(t, r.Dir, "checkout", "--quiet", "-b", "theirs")
			gittest.Write(t, r.Dir+"/notes.txt", "theirs\n")
			gittest.Write(t, r.Dir+"/both", "theirs\n")
			gittest.Must(t, os.Remove(r.Dir+"/run.sh"))
			gittest.Write(t, r.Dir+"/dir/deep.txt", "theirs\n")
			gittest.Git(t, r.Dir, "add", "--all", ".")
			gittest.Git(t, r.Dir, "commit", "--quiet", "--message=theirs")
			gittest.Git(t, r.Dir, "checkout", "--quiet", "main")
			gittest.Write(t, r.Dir+"/notes.txt", "ours\n")
			gittest.Write(t, r.Dir+"/both", "ours\n")
			gittest.Write(t, r.Dir+"/run.sh", "ours\n")
			gittest.Must(t, os.Remove(r.Dir+"/dir/deep.txt"))
			gittest.Git(t, r.Dir, "add", "--all", ".")
			gittest.Git(t, r.Dir, "commit", "--quiet", "--message=ours")
			mayFail(t, r.Dir, "merge", "theirs")
		}},
		{"before the first commit", func(t *testing.T, r *gittest.Repo) {
			gittest.Git(t, r.Dir, "checkout", "--quiet", "--orphan", "fresh")
			gittest.Write(t, r.Dir+"/notes.txt", "new\n")
		}},
		{"detached", func(t *testing.T, r *gittest.Repo) {
			gittest.Git(t, r.Dir, "checkout", "--quiet", "--detach")
			gittest.Write(t, r.Dir+"/notes.txt", "new\n")
		}},
		{"with packs", func(t *testing.T, r *gittest.Repo) {
			gittest.Git(t, r.Dir, "gc", "--quiet")
			gittest.Write(t, r.Dir+"/notes.txt", "new\n")
		}},
		{"without an index", func(t *testing.T, r *gittest.Repo) { gittest.Must(t, os.Remove(r.Dot+"/index")) }},
		{"with an index without times", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Remove(r.Dot+"/index"))
			gittest.Git(t, r.Dir, "read-tree", "HEAD")
		}},
		{"another repository in it", func(t *testing.T, r *gittest.Repo) {
			gittest.Git(t, r.Dir, "init", "--quiet", "nested")
			gittest.Write(t, r.Dir+"/nested/x", "x")
			gittest.Git(t, r.Dir, "init", "--quiet", "folder/empty")
			gittest.Mkdir(t, r.Dir+"/fake/.git")
		}},
		{"a submodule", func(t *testing.T, r *gittest.Repo) { submodule(t, r) }},
		{"a submodule at another commit", func(t *testing.T, r *gittest.Repo) {
			submodule(t, r)
			gittest.Git(t, r.Dir+"/sub", "commit", "--quiet", "--allow-empty", "--message=more")
		}},
		{"a submodule that is gone", func(t *testing.T, r *gittest.Repo) {
			submodule(t, r)
			gittest.Must(t, os.RemoveAll(r.Dir+"/sub"))
		}},
		{"a submodule that is empty", func(t *testing.T, r *gittest.Repo) {
			submodule(t, r)
			gittest.Must(t, os.RemoveAll(r.Dir+"/sub"))
			gittest.Mkdir(t, r.Dir+"/sub")
		}},
		{"a named pipe", func(t *testing.T, r *gittest.Repo) { gittest.Must(t, syscall.Mkfifo(r.Dir+"/fifo", 0o644)) }},
		{"a file replaced by a named pipe", func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Remove(r.Dir+"/notes.txt"))
			gittest.Must(t, syscall.Mkfifo(r.Dir+"/notes.txt", 0o644))
		}},
		{"names of every kind", func(t *testing.T, r *gittest.Repo) {
			for _, name := range []string{"a.b/x", "a/x", "a-b", "a0", "ü", "a b", strings.Repeat("long", 50), "\"q\"", "tab\t"} {
				gittest.Write(t, r.Dir+"/"+name, "x")
			}
			gittest.Git(t, r.Dir, "add", ".")
			gittest.Write(t, r.Dir+"/a/x", "changed")
			gittest.Write(t, r.Dir+"/a.b/y", "new")
		}},
	}
	for _, version := range []string{"2", "3", "4"} {
		for _, c := range cases {
			// Git writes an index of version 3 only if an entry has extended flags.
			if version == "3" && c.rule != "to be added" && c.rule != "assumed unchanged" {
				continue
			}
			t.Run("index version "+version+": "+c.rule, func(t *testing.T) {
				r := gittest.GitSample(t)
				gittest.Git(t, r.Dir, "config", "index.version", version)
				gittest.Git(t, r.Dir, "update-index", "--index-version", version)
				c.arrange(t, r)
				compareWithGit(t, r.Dir)
			})
		}
	}
}

func submodule(t *testing.T, r *gittest.Repo) {
	t.Helper()
	gittest.Git(t, r.Dir, "init", "--quiet", "sub")
	gittest.Git(t, r.Dir+"/sub", "commit", "--quiet", "--allow-empty", "--message=sub")
	gittest.Git(t, r.Dir, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
	gittest.Git(t, r.Dir, "commit", "--quiet", "--message=sub")
}

// A file that is modified within one clock tick after git add can keep its size and times. Its index entry is then racily clean.
func TestStatusDetectsRacilyCleanEntry(t *testing.T) {
	r := gittest.GitSample(t)
	info, err := os.Stat(r.Dir + "/notes.txt")
	gittest.Must(t, err)
	gittest.Must(t, os.Chtimes(r.Dot+"/index", info.ModTime(), info.ModTime()))
	f, err := os.OpenFile(r.Dir+"/notes.txt", os.O_WRONLY, 0)
	gittest.Must(t, err)
	_, err = f.WriteString("niam\n")
	gittest.Must(t, errors.Join(err, f.Close()))
	gittest.Must(t, os.Chtimes(r.Dir+"/notes.txt", info.ModTime(), info.ModTime()))
	got, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir})
	if err != nil || !slices.Equal(porcelain(got), []string{" M notes.txt"}) {
		t.Errorf("got %v, %v", porcelain(got), err)
	}
}

func TestStatusOfLinkedWorktreeAndSubdirectory(t *testing.T) {
	all := t.TempDir()
	r := gittest.GitSample(t)
	gittest.Must(t, os.Rename(r.Dir, all+"/repo"))
	gittest.Git(t, all+"/repo", "worktree", "add", "--quiet", "-b", "other", all+"/tree")
	gittest.Write(t, all+"/tree/notes.txt", "new\n")
	for _, folder := range []string{"/tree", "/tree/dir"} {
		got, err := gittest.Granted(all).Status(t.Context(), abi.GitStatusQuery{Repo: all + folder})
		if err != nil || !slices.Equal(porcelain(got), []string{" M notes.txt"}) {
			t.Errorf("%s: got %v, %v", folder, porcelain(got), err)
		}
	}
}

func TestStatusIsBounded(t *testing.T) {
	r := gittest.GitSample(t)
	for i := range 30 {
		gittest.Write(t, fmt.Sprintf("%s/new%d", r.Dir, i), "x")
	}
	gittest.Write(t, r.Dir+"/notes.txt", "new\n")
	cases := []struct {
		limit, want int
		truncated   bool
	}{{0, 31, false}, {31, 31, false}, {30, 30, true}, {1, 1, true}}
	for _, c := range cases {
		got, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir, Limit: c.limit})
		if err != nil || len(got.Paths) != c.want || got.Truncated != c.truncated || got.Paths[0].Path != "notes.txt" {
			t.Errorf("limit %d: got %d, %v, %v", c.limit, len(got.Paths), got.Truncated, err)
		}
	}
	for _, limit := range []int{-1, 10_001} {
		if _, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir, Limit: limit}); gittest.Code(err) != abi.HostInvalid {
			t.Errorf("limit %d: got %v", limit, err)
		}
	}
	t.Run("a context that ends ends it", func(t *testing.T) {
		_, err := gittest.Granted(r.Dir).Status(gittest.EndAfter(t.Context(), 10), abi.GitStatusQuery{Repo: r.Dir})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		dir := t.TempDir()
		got, err := gittest.Granted(dir).Status(t.Context(), abi.GitStatusQuery{Repo: dir})
		if err != nil || got.Found {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// BenchmarkStatus reports how many times as long as git status the operation takes on 10,000 files.
func BenchmarkStatus(b *testing.B) {
	dir := b.TempDir()
	gittest.Git(b, dir, "init", "--quiet", ".")
	for i := range 10_000 {
		gittest.Write(b, fmt.Sprintf("%s/d%d/e%d/f%d.txt", dir, i%20, i%500, i), fmt.Sprint("content ", i))
	}
	gittest.Git(b, dir, "add", ".")
	gittest.Git(b, dir, "commit", "--quiet", "--message=all")
	time.Sleep(10 * time.Millisecond)
	gittest.Git(b, dir, "update-index", "--refresh", "--really-refresh")
	ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: dir}}})
	var native time.Duration
	for b.Loop() {
		got, err := ops.Status(b.Context(), abi.GitStatusQuery{Repo: dir})
		if err != nil || len(got.Paths) != 0 {
			b.Fatalf("got %v, %v", got, err)
		}
		b.StopTimer()
		start := time.Now()
		gittest.Git(b, dir, "status", "--porcelain")
		native += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/native.Seconds(), "of-git-status")
}

// mayFail runs git for its side effects. The test continues even if git fails.
func mayFail(t *testing.T, dir string, args ...string) {
	t.Helper()
	gittest.Git(t, dir, append([]string{"-c", `alias.maybe=!f() { git "$@" || true; }; f`, "maybe"}, args...)...)
}
