//go:build unix

package tools_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedWrites are calls of mcp-server-git 2026.10.19 in a repository of writes.sh, and what git shows of it then.
type recordedWrites struct {
	Name, Repository, Arrange, State, Departure string
	Calls                                       []recorded
}

// variable matches what differs for each new commit: its hash and date, the line feed at the end of a message, which the original does not
// write, and how git commit begins a line of the reflog, which the original leaves out.
var variable = regexp.MustCompile(`with hash \S+|Commit: [0-9a-f]{40}|Date: [-+0-9: ]+|HEAD detached (at|from) [0-9a-f]{7}|\n+$|(?m)^HEAD@\{\d\} (commit( \(initial\))?: )?`)

func withoutVariable(text string) string { return variable.ReplaceAllString(text, "…") }

// shell runs commands in a directory, with the environment of .ci/references/record-git.
func shell(t *testing.T, dir, commands string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "TZ=UTC", "LC_ALL=C", "HOME=/nonexistent",
		"GIT_AUTHOR_DATE=1700003600 +0200", "GIT_COMMITTER_DATE=1700003600 +0200")
	out, _ := cmd.Output() // some commands fail, such as git merge with a conflict
	return string(out)
}

// state is the member STATE of .ci/references/record-git.
const state = `git ls-files --stage; git symbolic-ref -q HEAD || echo detached; git for-each-ref --format='%(refname) %(tree) %(*tree)'
git log -3 --format='%T %an <%ae> %cn <%ce> %s' 2>/dev/null; git reflog -3 --format='%gd %gs' 2>/dev/null; git status --porcelain; git fsck --strict 2>&1 | grep -v ^dangling`

// TestWritesAreThoseOfTheOriginal sends the recorded calls that write. The texts must be equal byte for byte, but for hashes and dates of new
// commits, and the repository must be in the same state, unless the recording names a departure.
func TestWritesAreThoseOfTheOriginal(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "writes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []recordedWrites
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	base := repositoriesOf(t, "writes.sh")
	calls, same := 0, 0
	for _, c := range all {
		dir := filepath.Join(t.TempDir(), "d")
		if out, err := exec.Command("cp", "-R", base, dir).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v %s", err, out)
		}
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		repository := filepath.Join(dir, c.Repository)
		shell(t, repository, "git status >/dev/null; "+c.Arrange) // git status refreshes the index, which has the times of the original files
		s := newWriter(t, dir)
		different := ""
		for _, r := range c.Calls {
			got, isError := s.call(r.Tool, strings.ReplaceAll(string(r.Arguments), "{dir}", dir))
			got = withoutVariable(strings.ReplaceAll(got, dir, "{dir}"))
			calls++
			if want := withoutVariable(r.Text); got != want || isError != r.Error {
				different += cmp.Diff(want, got)
				continue
			}
			same++
		}
		different += cmp.Diff(withoutVariable(c.State), withoutVariable(strings.ReplaceAll(shell(t, repository, state), dir, "{dir}")))
		switch {
		case different == "" && c.Departure != "":
			t.Errorf("%s: is equal, although a departure is named: %s", c.Name, c.Departure)
		case different != "" && c.Departure == "":
			t.Errorf("%s (-original +got)\n%s", c.Name, different)
		}
	}
	t.Logf("%d of %d answers are equal", same, calls)
}

// TestWritesStayInTheRepository sends values that leave the repository, or that a command line of git would take for options. Each is refused,
// and no file is written but objects.
func TestWritesStayInTheRepository(t *testing.T) {
	dir := repositoriesOf(t, "writes.sh")
	repository := filepath.Join(dir, "work")
	if err := os.Symlink("../base", filepath.Join(repository, "out")); err != nil {
		t.Fatal(err)
	}
	s := newWriter(t, repository)
	before := snapshot(t, dir)
	if text, isError := s.call("git_add", `{"repo_path":"`+repository+`","files":["out/a.txt"]}`); !isError {
		t.Errorf("a path beyond a link: %s", text)
	}
	for _, value := range []string{"../base/a.txt", "/etc/passwd", "..", ".git/config", ".git/hooks/pre-commit", "dir/../../base/a.txt", "--all", "-A",
		"--pathspec-from-file=/etc/passwd", "--chmod=+x", ":(top)..", ":/", "~/x", "a\x00b", "refs/../../config", "../../config", "../hooks/pre-commit", "a/../../x", "a..b",
		"-d", "--force", "HEAD", "@", "a.lock", "a b", "a:b", "a~1", "a\nb", "//x", "x/", ".x", "x\\y"} {
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		arguments := `{"repo_path":"` + repository + `",`
		for tool, rest := range map[string]string{"git_add": `"files":[` + string(quoted) + `]}`, "git_create_branch": `"branch_name":` + string(quoted) + `}`} {
			if text, isError := s.call(tool, arguments+rest); !isError {
				t.Errorf("%s %s: %s", tool, rest, text)
			}
		}
		rest := `"branch_name":"new","base_branch":` + string(quoted) + `}`
		if text, isError := s.call("git_create_branch", arguments+rest); !isError {
			t.Errorf("git_create_branch %s: %s", rest, text)
		}
	}
	for _, repo := range []string{dir + "/base", dir + "/work/../base", repository + "/out", "/", dir} {
		for tool, rest := range map[string]string{"git_add": `,"files":["."]`, "git_reset": "", "git_commit": `,"message":"x"`, "git_create_branch": `,"branch_name":"x"`} {
			if text, isError := s.call(tool, `{"repo_path":"`+repo+`"`+rest+`}`); !isError {
				t.Errorf("%s of %s: %s", tool, repo, text)
			}
		}
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("files have changed (-before +after)\n%s", diff)
	}
}

func TestFilesThatMayNotBeReadAreNotStaged(t *testing.T) {
	dir := repositoriesOf(t, "writes.sh")
	repository := filepath.Join(dir, "base")
	for i := range 12 {
		name := filepath.Join(repository, "s", string(rune('a'+i)), ".env")
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newWriter(t, dir)
	got, isError := s.call("git_add", `{"repo_path":"`+repository+`","files":["."]}`)
	const want = "No changes were staged: the given paths had nothing new to stage. git_status shows what is modified or untracked.\n" +
		"Not staged, because this plugin may not read them: s/a/.env, s/b/.env, s/c/.env, s/d/.env, s/e/.env, s/f/.env, s/g/.env, s/h/.env, s/i/.env, s/j/.env and 2 more"
	if isError || got != want {
		t.Errorf("got %t %s", isError, got)
	}
	if got, isError := s.call("git_add", `{"repo_path":"`+repository+`","files":["s/a/.env"]}`); !isError || !strings.Contains(got, "permission denied") {
		t.Errorf("a file by its name: got %t %s", isError, got)
	}
}
