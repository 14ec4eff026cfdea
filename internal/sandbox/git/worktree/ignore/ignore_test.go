package ignore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestIgnored(t *testing.T) {
	cases := []struct {
		rule, ignore string // description of the case, and the .gitignore of the top level
		path         string
		want         bool
	}{
		{"a name, anywhere", "x\n", "a/b/x", true},
		{"a name is not a part of one", "x\n", "a/xy", false},
		{"a path, from the file's directory on", "a/x\n", "b/a/x", false},
		{"a leading slash does not match below", "/x\n", "a/x", false},
		{"a leading slash matches at the top", "/x\n", "x", true},
		{"a directory and what it holds", "dir/\n", "dir/new.txt", true},
		{"a file is not a directory", "notes/\n", "notes", false},
		{"a trailing slash in the request marks a directory", "new/\n", "new/", true},
		{"any ending", "*.log\n", "a/b.log", true},
		{"any directory", "**/x\n", "x", true},
		{"any directories between", "a/**/x\n", "a/b/c/x", true},
		{"no directory between", "a/**/x\n", "a/x", true},
		{"all in a directory", "a/**\n", "a/b/c", true},
		{"a star stops at a slash", "a/*/x\n", "a/b/c/x", false},
		{"one character", "a?c\n", "abc", true},
		{"a set", "a[b-d]c\n", "acc", true},
		{"not of a set", "a[!b-d]c\n", "acc", false},
		{"a class", "a[[:digit:]]\n", "a7", true},
		{"a malformed set matches nothing", "a[b\n", "a[b", false},
		{"re-included", "*.log\n!a.log\n", "a.log", false},
		{"not re-included below an ignored directory", "dir\n!dir/new.txt\n", "dir/new.txt", true},
		{"re-included where only what the directory holds is ignored", "dir/*\n!dir/new.txt\n", "dir/new.txt", false},
		{"a comment", "#x\n", "#x", false},
		{"an escaped hash", "\\#x\n", "#x", true},
		{"trailing spaces are trimmed", "x  \n", "x", true},
		{"an escaped trailing space is kept", "x\\ \n", "x ", true},
		{"line ends of Windows", "x\r\n", "x", true},
		{"the last line without its end", "x", "x", true},
		{"case matters", "X\n", "x", false},
		{"the file in a directory has precedence", "*.tmp\n", "sub/keep.tmp", false},
		{"a nested .gitignore does not apply to the parent", "", "own", false},
		{"a nested .gitignore applies to its directory", "", "sub/own", true},
		{"info/exclude has lower precedence", "!excluded\n", "excluded", false},
		{"info/exclude applies", "", "excluded", true},
		{"the user's own has the lowest precedence", "", "b.user", true},
		{"a user's pattern can be overridden", "!b.user\n", "b.user", false},
		{"a tracked file is not ignored", "notes.txt\n", "notes.txt", false},
		{"a directory with a tracked file is not ignored", "dir\n", "dir", false},
		{"an absolute path", "x\n", "/x", true},
		{"a link to a directory is not a directory", "ln/\n", "ln", false},
		{"a .gitignore that is a link is not read", "", "lnk/b", false},
		{"the top level", "*\n", ".", false},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			gittest.Write(t, r.Dir+"/.gitignore", c.ignore)
			gittest.Write(t, r.Dir+"/sub/.gitignore", "own\n!keep.tmp\n")
			gittest.Write(t, r.Dir+"/notes", "")
			gittest.Write(t, r.Dot+"/info/exclude", "excluded\n")
			gittest.Write(t, r.Dir+"/list", "b\n")
			gittest.Mkdir(t, r.Dir+"/lnk")
			gittest.Symlink(t, "../list", r.Dir+"/lnk/.gitignore")
			gittest.Symlink(t, "dir", r.Dir+"/ln")
			if strings.HasPrefix(c.path, "/") {
				c.path = r.Dir + c.path
			}
			got, err := ignoring(r.Dir, "*.user\n").Ignored(t.Context(), abi.GitPaths{Repo: r.Dir, Paths: []string{c.path}})
			if err != nil || len(got.Ignored) != 1 || got.Ignored[0] != c.want {
				t.Errorf("%s: got %v, %v; want %v", c.path, got.Ignored, err, c.want)
			}
		})
	}
	r := gittest.Sample(t, t.TempDir())
	for _, path := range []string{"", "..", "a/../../x", "../x", "/etc/passwd", ".git/config", "a/.git", "a\x00b", strings.Repeat("a/", 3000)} {
		t.Run(fmt.Sprintf("the path %.20q is refused", path), func(t *testing.T) {
			_, err := gittest.Granted(r.Dir).Ignored(t.Context(), abi.GitPaths{Repo: r.Dir, Paths: []string{path}})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func ignoring(dir, user string) *git.Ops {
	return gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: dir}}, User: gittest.User(git.User{Excludes: []byte(user)})})
}

// probes are the paths for which the tests compare Ignored with git.
var probes = []string{"a", "b", "c", "ab", "abc", "a/b", "a/b/c", "a/b/c/d", "a/ab", "b/a", "b/a/b", "ab/a", "ab/c/a", "a/x.c", "x.c", ".a", "a b", "a ", "#a", "!a", "a-b",

	"a]", "[a", "b/]", `a\b`, "A", "a/B", "*", "a*", "a/**", "b/c/d/e/a", "c/", "aab", "aaab/aab", "ü", "a/ü"}

type ignoreProbe struct {
	r   *gittest.Repo
	ops func(user string) *git.Ops
}

func newIgnoreProbe(tb testing.TB) *ignoreProbe {
	r := gittest.New(tb, tb.TempDir())
	for _, dir := range []string{"a/b/c", "ab/c", "b/a", "b/c/d/e", "aaab"} {
		gittest.Mkdir(tb, r.Dir+"/"+dir)
	}
	return &ignoreProbe{r, func(user string) *git.Ops { return ignoring(r.Dir, user) }}
}

// compareWithGit fails the test unless Ignored and git agree.
func (p *ignoreProbe) compareWithGit(t *testing.T, top, sub, exclude, user string) {
	t.Helper()
	gittest.Write(t, p.r.Dir+"/.gitignore", top)
	gittest.Write(t, p.r.Dir+"/a/.gitignore", sub)
	gittest.Write(t, p.r.Dot+"/info/exclude", exclude)
	gittest.Write(t, p.r.Dot+"/user", user)
	paths := make([]string, 0, len(probes))
	for _, name := range probes {
		paths = append(paths, strings.TrimSuffix(name, "/"))
	}
	got, err := p.ops(user).Ignored(t.Context(), abi.GitPaths{Repo: p.r.Dir, Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-c", "core.excludesFile="+p.r.Dot+"/user", "check-ignore", "-z", "--stdin")
	cmd.Dir = p.r.Dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("git: %v %s", err, stderr.String())
	}
	theirs := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var ours []string
	for i, name := range paths {
		if got.Ignored[i] {
			ours = append(ours, name)
		}
	}
	if len(out) == 0 {
		theirs = nil
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Fatalf("top %q, a %q, exclude %q, user %q: git (-) and the operation (+) disagree:\n%s", top, sub, exclude, user, diff)
	}
}

// TestIgnoredAgreesWithGit compares Ignored with git for random patterns.
func TestIgnoredAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	p := newIgnoreProbe(t)
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "c", "ab", "/", "/", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[a-c]", "[[:alpha:]]", "[", "]", "!", "\\", "\\*", " ", "#", ".", "\r", "x.c", "*.c", "-", "^", "\t", "ü", "A"}
	lines := func() string {
		var s strings.Builder
		for range random.IntN(4) {
			for range 1 + random.IntN(6) {
				s.WriteString(parts[random.IntN(len(parts))])
			}
			s.WriteByte('\n')
		}
		return s.String()
	}
	for range testenv.Count(20, 100, 400) {
		p.compareWithGit(t, lines(), lines(), lines(), lines())
	}
}

// FuzzIgnored checks that Ignored agrees with git on arbitrary patterns.
func FuzzIgnored(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	for _, seed := range []string{"", "a", "*.c\n!x.c", "a/**/c\n", "/a/b**/c", "[a", "[]a]", "[a-]", "[!]]", "[\\]a]", "[[:alpha:]", "[[:nope:]]", "a\\", "a\\ \n", "**", "***", "a**b",
		"**/a/**/b", "\ufeffa", "!\n", "/\n", "//\n", "a//b", "\x00a", "a\x00b", "a\\/b", "**\\/b", "[a/b]c", "a[/]b", "a/", "!a/\n*"} {
		f.Add(seed, "b\n")
		f.Add("*\n!*/\n", seed)
	}
	p := newIgnoreProbe(f)
	f.Fuzz(func(t *testing.T, top, sub string) {
		if len(top)+len(sub) > 500 {
			return
		}
		p.compareWithGit(t, top, sub, "", "")
	})
}

func TestHostileIgnoreFilesAreBounded(t *testing.T) {
	long := strings.Repeat("a", 200)
	cases := []struct{ rule, ignore, path, why string }{
		{"a pattern with exponential backtracking", strings.Repeat("*a", 500) + "*b\n", strings.Repeat(long+"/", 15) + long, ""},
		{"directory wildcards with exponential backtracking", strings.Repeat("**/a*", 300) + "/b\n", strings.Repeat("a/", 1000) + "c", ""},
		{"an endless line", strings.Repeat("a", 10_000), "x", "line 1: longer than 8192 bytes"},
		{"an endless file", strings.Repeat("a\n", 1<<20), "x", "larger than 1048576 bytes"},
		{"too many patterns", strings.Repeat("a\n", 100_001), "x", "the file has more than 100000 patterns"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			gittest.Write(t, r.Dir+"/.gitignore", c.ignore)
			start := time.Now()
			_, err := gittest.Granted(r.Dir).Ignored(t.Context(), abi.GitPaths{Repo: r.Dir, Paths: []string{c.path}})
			if c.why == "" && err != nil || c.why != "" && (gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took > gittest.Timeout {
				t.Errorf("took %v", took)
			}
		})
	}
	t.Run("too many paths", func(t *testing.T) {
		r := gittest.New(t, t.TempDir())
		_, err := gittest.Granted(r.Dir).Ignored(t.Context(), abi.GitPaths{Repo: r.Dir, Paths: make([]string, 1001)})
		if gittest.Code(err) != abi.HostInvalid {
			t.Errorf("got %v", err)
		}
	})
}
