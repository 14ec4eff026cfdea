package git_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/google/go-cmp/cmp"
)

// porcelain gives a status as git status --porcelain writes it.
func porcelain(s abi.GitStatus) (lines []string) {
	for _, p := range s.Paths {
		lines = append(lines, p.Staged+p.Unstaged+" "+p.Path)
	}
	slices.Sort(lines)
	return lines
}

// same demands that the operation and git agree on a working tree.
func sameStatus(t *testing.T, dir string) {
	t.Helper()
	got, err := granted(dir).Status(t.Context(), abi.GitStatusQuery{Repo: dir})
	if err != nil || !got.Found {
		t.Fatalf("got %+v, %v", got, err)
	}
	// Asked after the operation: git brings the index up to date.
	out := program(t, dir, "-c", "status.renames=false", "status", "--porcelain", "-z", "--ignore-submodules=dirty")
	var want []string
	for line := range strings.SplitSeq(out, "\x00") {
		if line != "" {
			want = append(want, line)
		}
	}
	// The program's output was trimmed.
	if len(want) > 0 && len(want[0]) > 2 && want[0][1] == ' ' && want[0][2] != ' ' {
		want[0] = " " + want[0]
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, porcelain(got)); diff != "" {
		t.Errorf("git (-) and the operation (+) disagree:\n%s", diff)
	}
}

func TestStatusAsGitDoes(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(t *testing.T, r *repo)
	}{
		{"clean", func(*testing.T, *repo) {}},
		{"changed", func(t *testing.T, r *repo) { write(t, r.dir+"/notes.txt", "longer than it was\n") }},
		{"changed to the same size", func(t *testing.T, r *repo) { write(t, r.dir+"/notes.txt", "niam\n") }},
		{"touched", func(t *testing.T, r *repo) {
			must(t, os.Chtimes(r.dir+"/notes.txt", time.Now(), time.Now().Add(time.Hour)))
		}},
		{"deleted", func(t *testing.T, r *repo) { must(t, os.Remove(r.dir+"/notes.txt")) }},
		{"deleted with its folder", func(t *testing.T, r *repo) { must(t, os.RemoveAll(r.dir+"/dir")) }},
		{"staged", func(t *testing.T, r *repo) {
			write(t, r.dir+"/notes.txt", "new\n")
			write(t, r.dir+"/added", "new\n")
			program(t, r.dir, "add", ".")
		}},
		{"staged and changed again", func(t *testing.T, r *repo) {
			write(t, r.dir+"/notes.txt", "new\n")
			write(t, r.dir+"/added", "new\n")
			program(t, r.dir, "add", ".")
			write(t, r.dir+"/notes.txt", "newer\n")
			must(t, os.Remove(r.dir+"/added"))
		}},
		{"removed from the index alone", func(t *testing.T, r *repo) { program(t, r.dir, "rm", "--quiet", "--cached", "notes.txt", "run.sh") }},
		{"the first and the last removed", func(t *testing.T, r *repo) { program(t, r.dir, "rm", "--quiet", "dir/deep.txt", "run.sh") }},
		{"all removed", func(t *testing.T, r *repo) { program(t, r.dir, "rm", "-r", "--quiet", ".") }},
		{"moved", func(t *testing.T, r *repo) { program(t, r.dir, "mv", "notes.txt", "dir/moved") }},
		{"made executable", func(t *testing.T, r *repo) { must(t, os.Chmod(r.dir+"/notes.txt", 0o755)) }},
		{"made executable, which is not heeded", func(t *testing.T, r *repo) {
			must(t, os.Chmod(r.dir+"/notes.txt", 0o755))
			program(t, r.dir, "config", "core.fileMode", "false")
		}},
		{"a mode staged", func(t *testing.T, r *repo) { program(t, r.dir, "update-index", "--chmod=-x", "run.sh") }},
		{"a link in a file's place", func(t *testing.T, r *repo) {
			must(t, os.Remove(r.dir+"/notes.txt"))
			symlink(t, "run.sh", r.dir+"/notes.txt")
		}},
		{"and staged", func(t *testing.T, r *repo) {
			must(t, os.Remove(r.dir+"/notes.txt"))
			symlink(t, "run.sh", r.dir+"/notes.txt")
			program(t, r.dir, "add", ".")
		}},
		{"a link with another target", func(t *testing.T, r *repo) {
			must(t, os.Remove(r.dir+"/link"))
			symlink(t, "empty.txt", r.dir+"/link")
		}},
		{"a folder in a file's place", func(t *testing.T, r *repo) {
			must(t, os.Remove(r.dir+"/notes.txt"))
			write(t, r.dir+"/notes.txt/x", "x")
		}},
		{"a file in a folder's place", func(t *testing.T, r *repo) {
			must(t, os.RemoveAll(r.dir+"/dir"))
			write(t, r.dir+"/dir", "x")
		}},
		{"a link in a folder's place", func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dir+"/dir", r.dir+"/real"))
			symlink(t, "real", r.dir+"/dir")
		}},
		{"untracked", func(t *testing.T, r *repo) {
			write(t, r.dir+"/new", "x")
			write(t, r.dir+"/dir/new", "x")
			write(t, r.dir+"/folder/deep/new", "x")
			mkdir(t, r.dir+"/nothing/in/it")
			symlink(t, "nowhere", r.dir+"/dangling")
		}},
		{"ignored", func(t *testing.T, r *repo) {
			write(t, r.dir+"/.gitignore", "*.log\nout/\n!keep.log\n/folder/**/x\n")
			write(t, r.dir+"/dir/.gitignore", "*\n!.gitignore\n!deep*\n")
			for _, name := range []string{"a.log", "keep.log", "out/x", "dir/x", "dir/deep2", "logs/a.log", "logs2/keep.log", "folder/a/x", "folder2/a/x", "dir/sub/deep3"} {
				write(t, r.dir+"/"+name, "x")
			}
		}},
		{"tracked in an ignored folder", func(t *testing.T, r *repo) {
			write(t, r.dir+"/out/tracked", "x")
			program(t, r.dir, "add", ".")
			write(t, r.dir+"/.gitignore", "out\n")
			write(t, r.dir+"/out/tracked", "xx")
			write(t, r.dir+"/out/other", "x")
		}},
		{"to be added", func(t *testing.T, r *repo) {
			write(t, r.dir+"/intent", "x")
			program(t, r.dir, "add", "--intent-to-add", "intent")
		}},
		{"assumed unchanged", func(t *testing.T, r *repo) {
			program(t, r.dir, "update-index", "--assume-unchanged", "notes.txt")
			program(t, r.dir, "update-index", "--skip-worktree", "empty.txt")
			write(t, r.dir+"/notes.txt", "new\n")
			must(t, os.Remove(r.dir+"/empty.txt"))
		}},
		{"in a merge", func(t *testing.T, r *repo) {
			program(t, r.dir, "checkout", "--quiet", "-b", "theirs")
			write(t, r.dir+"/notes.txt", "theirs\n")
			write(t, r.dir+"/both", "theirs\n")
			must(t, os.Remove(r.dir+"/run.sh"))
			write(t, r.dir+"/dir/deep.txt", "theirs\n")
			program(t, r.dir, "add", "--all", ".")
			program(t, r.dir, "commit", "--quiet", "--message=theirs")
			program(t, r.dir, "checkout", "--quiet", "main")
			write(t, r.dir+"/notes.txt", "ours\n")
			write(t, r.dir+"/both", "ours\n")
			write(t, r.dir+"/run.sh", "ours\n")
			must(t, os.Remove(r.dir+"/dir/deep.txt"))
			program(t, r.dir, "add", "--all", ".")
			program(t, r.dir, "commit", "--quiet", "--message=ours")
			mayFail(t, r.dir, "merge", "theirs")
		}},
		{"before the first commit", func(t *testing.T, r *repo) {
			program(t, r.dir, "checkout", "--quiet", "--orphan", "fresh")
			write(t, r.dir+"/notes.txt", "new\n")
		}},
		{"detached", func(t *testing.T, r *repo) {
			program(t, r.dir, "checkout", "--quiet", "--detach")
			write(t, r.dir+"/notes.txt", "new\n")
		}},
		{"with packs", func(t *testing.T, r *repo) {
			program(t, r.dir, "gc", "--quiet")
			write(t, r.dir+"/notes.txt", "new\n")
		}},
		{"without an index", func(t *testing.T, r *repo) { must(t, os.Remove(r.dot+"/index")) }},
		{"with an index without times", func(t *testing.T, r *repo) {
			must(t, os.Remove(r.dot+"/index"))
			program(t, r.dir, "read-tree", "HEAD")
		}},
		{"another repository in it", func(t *testing.T, r *repo) {
			program(t, r.dir, "init", "--quiet", "nested")
			write(t, r.dir+"/nested/x", "x")
			program(t, r.dir, "init", "--quiet", "folder/empty")
			mkdir(t, r.dir+"/fake/.git")
		}},
		{"a submodule", func(t *testing.T, r *repo) { submodule(t, r) }},
		{"a submodule at another commit", func(t *testing.T, r *repo) {
			submodule(t, r)
			program(t, r.dir+"/sub", "commit", "--quiet", "--allow-empty", "--message=more")
		}},
		{"a submodule that is gone", func(t *testing.T, r *repo) {
			submodule(t, r)
			must(t, os.RemoveAll(r.dir+"/sub"))
		}},
		{"a submodule that is empty", func(t *testing.T, r *repo) {
			submodule(t, r)
			must(t, os.RemoveAll(r.dir+"/sub"))
			mkdir(t, r.dir+"/sub")
		}},
		{"what is no file", func(t *testing.T, r *repo) { must(t, syscall.Mkfifo(r.dir+"/fifo", 0o644)) }},
		{"a file that is no file any more", func(t *testing.T, r *repo) {
			must(t, os.Remove(r.dir+"/notes.txt"))
			must(t, syscall.Mkfifo(r.dir+"/notes.txt", 0o644))
		}},
		{"names of every kind", func(t *testing.T, r *repo) {
			for _, name := range []string{"a.b/x", "a/x", "a-b", "a0", "ü", "a b", strings.Repeat("long", 50), "\"q\"", "tab\t"} {
				write(t, r.dir+"/"+name, "x")
			}
			program(t, r.dir, "add", ".")
			write(t, r.dir+"/a/x", "changed")
			write(t, r.dir+"/a.b/y", "new")
		}},
	}
	for _, version := range []string{"2", "3", "4"} {
		for _, c := range cases {
			// Version 3 is 2 with more flags: without them git writes 2.
			if version == "3" && c.rule != "to be added" && c.rule != "assumed unchanged" {
				continue
			}
			t.Run("index version "+version+": "+c.rule, func(t *testing.T) {
				r := gitSample(t)
				program(t, r.dir, "config", "index.version", version)
				program(t, r.dir, "update-index", "--index-version", version)
				c.arrange(t, r)
				sameStatus(t, r.dir)
			})
		}
	}
}

func submodule(t *testing.T, r *repo) {
	t.Helper()
	program(t, r.dir, "init", "--quiet", "sub")
	program(t, r.dir+"/sub", "commit", "--quiet", "--allow-empty", "--message=sub")
	program(t, r.dir, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
	program(t, r.dir, "commit", "--quiet", "--message=sub")
}

// A file that is changed within the clock's tick after git looked at it keeps its size and time stamps.
func TestStatusSeesAChangeWithinATick(t *testing.T) {
	r := gitSample(t)
	info, err := os.Stat(r.dir + "/notes.txt")
	must(t, err)
	must(t, os.Chtimes(r.dot+"/index", info.ModTime(), info.ModTime()))
	f, err := os.OpenFile(r.dir+"/notes.txt", os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("niam\n")
	must(t, errors.Join(err, f.Close()))
	must(t, os.Chtimes(r.dir+"/notes.txt", info.ModTime(), info.ModTime()))
	got, err := granted(r.dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.dir})
	if err != nil || !slices.Equal(porcelain(got), []string{" M notes.txt"}) {
		t.Errorf("got %v, %v", porcelain(got), err)
	}
}

func TestStatusOfAWorktreeAndOfAFolderOfIt(t *testing.T) {
	all := t.TempDir()
	r := gitSample(t)
	must(t, os.Rename(r.dir, all+"/repo"))
	program(t, all+"/repo", "worktree", "add", "--quiet", "-b", "other", all+"/tree")
	write(t, all+"/tree/notes.txt", "new\n")
	for _, folder := range []string{"/tree", "/tree/dir"} {
		got, err := granted(all).Status(t.Context(), abi.GitStatusQuery{Repo: all + folder})
		if err != nil || !slices.Equal(porcelain(got), []string{" M notes.txt"}) {
			t.Errorf("%s: got %v, %v", folder, porcelain(got), err)
		}
	}
}

func TestStatusIsBounded(t *testing.T) {
	r := gitSample(t)
	for i := range 30 {
		write(t, fmt.Sprintf("%s/new%d", r.dir, i), "x")
	}
	write(t, r.dir+"/notes.txt", "new\n")
	cases := []struct {
		limit, want int
		truncated   bool
	}{{0, 31, false}, {31, 31, false}, {30, 30, true}, {1, 1, true}}
	for _, c := range cases {
		got, err := granted(r.dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.dir, Limit: c.limit})
		if err != nil || len(got.Paths) != c.want || got.Truncated != c.truncated || got.Paths[0].Path != "notes.txt" {
			t.Errorf("limit %d: got %d, %v, %v", c.limit, len(got.Paths), got.Truncated, err)
		}
	}
	for _, limit := range []int{-1, 10_001} {
		if _, err := granted(r.dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.dir, Limit: limit}); code(err) != abi.HostInvalid {
			t.Errorf("limit %d: got %v", limit, err)
		}
	}
	t.Run("a context that ends ends it", func(t *testing.T) {
		_, err := granted(r.dir).Status(&askedContext{t.Context(), 10}, abi.GitStatusQuery{Repo: r.dir})
		if !errors.Is(err, contextCanceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		dir := t.TempDir()
		got, err := granted(dir).Status(t.Context(), abi.GitStatusQuery{Repo: dir})
		if err != nil || got.Found {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// BenchmarkStatus compares the operation on 10,000 files with git's own, in one run.
func BenchmarkStatus(b *testing.B) {
	dir := b.TempDir()
	program(b, dir, "init", "--quiet", ".")
	for i := range 10_000 {
		write(b, fmt.Sprintf("%s/d%d/e%d/f%d.txt", dir, i%20, i%500, i), fmt.Sprint("content ", i))
	}
	program(b, dir, "add", ".")
	program(b, dir, "commit", "--quiet", "--message=all")
	time.Sleep(10 * time.Millisecond)
	program(b, dir, "update-index", "--refresh", "--really-refresh")
	ops := newOps(git.Config{Grants: []git.Grant{{Repo: dir, Access: "r"}}})
	var native time.Duration
	for b.Loop() {
		got, err := ops.Status(b.Context(), abi.GitStatusQuery{Repo: dir})
		if err != nil || len(got.Paths) != 0 {
			b.Fatalf("got %v, %v", got, err)
		}
		b.StopTimer()
		start := time.Now()
		program(b, dir, "status", "--porcelain")
		native += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/native.Seconds(), "of-git-status")
}

// mayFail runs git for what it leaves behind, whether it succeeds or not.
func mayFail(t *testing.T, dir string, args ...string) {
	t.Helper()
	program(t, dir, append([]string{"-c", `alias.maybe=!f() { git "$@" || true; }; f`, "maybe"}, args...)...)
}
