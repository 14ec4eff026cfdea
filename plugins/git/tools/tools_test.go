package tools_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// server is the plugin with the host operations of a grant of the directory dir.
type server struct {
	*sdktest.Host
	t   testing.TB
	dir string
}

func newServer(t testing.TB, dir string) *server {
	return newServerWith(t, dir, sandbox.Config{}, false)
}

// newWriter is newServer with grants to commit and to read the files, except those whose base name is .env.
func newWriter(t testing.TB, dir string) *server {
	t.Helper()
	return newServerWith(t, dir, sandbox.Config{Mounts: []vfs.Mount{{Path: dir, Dir: open(t, dir)}}, Hidden: sandbox.Hidden{Patterns: []string{"**/.env"}},
		Limits: manifest.Limits{Files: 16}}, true)
}

func open(t testing.TB, dir string) *os.File {
	t.Helper()
	handle, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

func newServerWith(t testing.TB, dir string, config sandbox.Config, commit bool) *server {
	t.Helper()
	config.Repos = []git.Grant{{Repo: dir, Dir: open(t, dir), Commit: commit}}
	box, err := sandbox.New(config)
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.New()
	tools.Register(p)
	s := &server{sdktest.New(t, p, filepath.Join("..", "plugin.toml")), t, dir}
	for _, op := range []string{abi.OpGitState, abi.OpGitRefs, abi.OpGitHistory, abi.OpGitChanges, abi.OpGitObjects, abi.OpGitAbbreviate,
		abi.OpGitStatus, abi.OpGitResolveRef, abi.OpGitAdd, abi.OpGitCommit, abi.OpGitReset, abi.OpGitCreateBranch} {
		s.Handle(op, func(params json.RawMessage) (any, error) {
			request, err := json.Marshal(abi.HostRequest{Op: op, Params: params})
			if err != nil {
				return nil, err
			}
			var response abi.HostResponse
			if err := json.Unmarshal(box.Operate(context.Background(), request), &response); err != nil {
				return nil, err
			}
			if response.Error != nil {
				return nil, response.Error
			}
			return response.Result, nil
		})
	}
	return s
}

// call calls a tool and returns the text of the result.
func (s *server) call(tool, arguments string) (text string, isError bool) {
	s.t.Helper()
	result, err := s.CallTool(tool, arguments)
	if err != nil {
		return "refused by the host: " + err.Error(), true
	}
	if len(result.Texts) != 1 {
		s.t.Fatalf("%s %s: %d texts", tool, arguments, len(result.Texts))
	}
	return result.Texts[0], result.IsError
}

// repositories builds the repositories of testdata/repositories.sh.
func repositories(t testing.TB) string { return repositoriesOf(t, "repositories.sh") }

// repositoriesOf builds the repositories of a script in testdata.
func repositoriesOf(t testing.TB, script string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", filepath.Join("..", "testdata", script), dir).CombinedOutput()
	if err != nil {
		t.Fatalf(script+": %v\n%s", err, out)
	}
	return dir
}

// recorded is a call of mcp-server-git 2026.10.19 and its answer.
type recorded struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Text      string          `json:"text"`
	Sum       string          `json:"sum"` // SHA-256 of a long text, instead of it
	Error     bool            `json:"error"`
	Hangs     bool            `json:"hangs"` // the server gave no answer
	Departure string          `json:"departure"`
}

// TestAnswersAreThoseOfTheOriginal sends the recorded calls. The text must be equal byte for byte, unless the recording names a departure.
func TestAnswersAreThoseOfTheOriginal(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "reads.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	dir := repositories(t)
	s := newServer(t, dir)
	same := 0
	for _, r := range all {
		got, isError := s.call(r.Tool, strings.ReplaceAll(string(r.Arguments), "{dir}", dir))
		got = strings.ReplaceAll(got, dir, "{dir}")
		equal := got == r.Text
		if r.Sum != "" {
			sum := sha256.Sum256([]byte(got))
			equal = hex.EncodeToString(sum[:]) == r.Sum
		}
		equal = equal && isError == r.Error && !r.Hangs
		switch {
		case equal && r.Departure != "":
			t.Errorf("%s %s: is equal, although a departure is named: %s", r.Tool, r.Arguments, r.Departure)
		case !equal && r.Departure == "":
			t.Errorf("%s %s\n got %t %s\nwant %t %s", r.Tool, r.Arguments, isError, got, r.Error, r.Text)
		case equal:
			same++
		}
	}
	t.Logf("%d of %d answers are equal", same, len(all))
}

// TestToolDefinitions compares the tools with those of the original: names, schemas and what they may destroy. Descriptions differ.
func TestToolDefinitions(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		Name        string
		InputSchema map[string]any
		Annotations struct{ ReadOnlyHint, DestructiveHint, IdempotentHint bool }
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Tools []struct {
			Name, Access            string
			Destructive, Idempotent bool
			Input                   map[string]any
		}
	}
	if _, err := toml.DecodeFile(filepath.Join("..", "plugin.toml"), &manifest); err != nil {
		t.Fatal(err)
	}
	leftOut := map[string]bool{"git_checkout": true}
	for _, w := range want {
		i := slices.IndexFunc(manifest.Tools, func(tool struct {
			Name, Access            string
			Destructive, Idempotent bool
			Input                   map[string]any
		}) bool {
			return tool.Name == w.Name
		})
		if (i < 0) != leftOut[w.Name] {
			t.Errorf("%s: left out is %t", w.Name, i < 0)
		}
		if i < 0 {
			continue
		}
		got := manifest.Tools[i]
		if diff := cmp.Diff(plain(t, w.InputSchema), plain(t, got.Input)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", w.Name, diff)
		}
		if isRead := got.Access == "read"; isRead != w.Annotations.ReadOnlyHint ||
			!isRead && (got.Destructive != w.Annotations.DestructiveHint || got.Idempotent != w.Annotations.IdempotentHint) {
			t.Errorf("%s: %+v, want %+v", w.Name, got, w.Annotations)
		}
	}
}

// plain returns a schema without titles, descriptions and defaults of null, in the types of JSON.
func plain(t *testing.T, schema map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "title")
	for _, p := range all["properties"].(map[string]any) {
		property := p.(map[string]any)
		delete(property, "title")
		delete(property, "description")
		if property["default"] == nil {
			delete(property, "default")
		}
	}
	return all
}

// TestArgumentsAreNoOptions sends values that a command line of git would take for options or as paths of other files, as in the attacks on
// the original (CVE-2025-68143 to -68145). Each is refused, and no file is written.
func TestArgumentsAreNoOptions(t *testing.T) {
	dir := repositories(t)
	s := newServer(t, dir)
	before := snapshot(t, dir)
	for _, value := range []string{"--output=" + dir + "/plain/.git/hooks/pre-commit", "--output", "-o", "-p", "--", "--no-index", "--ext-diff", "--exec=touch x",
		"--upload-pack=touch x", "-O/etc/passwd", "--all", "-", "--no-index -- /dev/null /etc/passwd", "HEAD --output=x", "HEAD\x00--output=x", "HEAD;touch x",
		"../../etc/passwd", "/etc/passwd", "refs/../../config", "refs/heads/../../config", "config", "HEAD:../../etc/passwd", "HEAD:/etc/passwd", "@{upstream}", ":(top)x"} {
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for tool, name := range map[string]string{"git_diff": "target", "git_show": "revision", "git_log": "start_timestamp"} {
			for _, repo := range []string{"plain", "history"} {
				arguments := `{"repo_path":"` + dir + "/" + repo + `","` + name + `":` + string(quoted) + `}`
				if text, isError := s.call(tool, arguments); !isError {
					t.Errorf("%s %s: %s", tool, arguments, text)
				}
			}
		}
		for _, name := range []string{"contains", "not_contains", "branch_type"} {
			arguments := `{"repo_path":"` + dir + `/history","` + name + `":` + string(quoted) + `}`
			if name != "branch_type" {
				arguments = strings.Replace(arguments, "{", `{"branch_type":"all",`, 1)
			}
			if text, isError := s.call("git_branch", arguments); !isError {
				t.Errorf("git_branch %s: %s", arguments, text)
			}
		}
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("files have changed (-before +after)\n%s", diff)
	}
}

// TestOnlyGrantedRepositoriesAreReached names repositories outside of the grant, which the original shows if it runs without --repository.
func TestOnlyGrantedRepositoriesAreReached(t *testing.T) {
	dir := repositories(t)
	s := newServer(t, filepath.Join(dir, "plain"))
	if err := os.Symlink(filepath.Join(dir, "history"), filepath.Join(dir, "plain", "way-out")); err != nil {
		t.Fatal(err)
	}
	for _, repo := range []string{dir + "/history", dir + "/plain/../history", dir + "/plain/way-out", "/", dir, dir + "/plain/../plain-but-longer", "~", "$HOME"} {
		for _, tool := range []string{"git_status", "git_log", "git_diff_unstaged", "git_diff_staged"} {
			if text, isError := s.call(tool, `{"repo_path":"`+repo+`"}`); !isError {
				t.Errorf("%s of %s: %s", tool, repo, text)
			}
		}
	}
	if text, isError := s.call("git_status", `{"repo_path":"`+dir+`/plain"}`); isError {
		t.Errorf("the granted repository: %s", text)
	}
}

// snapshot returns the contents of all files, keyed by path.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// JSON writes an integer also with an exponent or with more digits than an int has.
func TestLargeIntegersAreAccepted(t *testing.T) {
	dir := repositories(t)
	s := newServer(t, dir)
	all, _ := s.call("git_log", `{"repo_path":"`+dir+`/plain","max_count":1000}`)
	for _, number := range []string{"1e3", "1e30", "1000000000000000000000", "1e400", "1000.0"} {
		if got, isError := s.call("git_log", `{"repo_path":"`+dir+`/plain","max_count":`+number+`}`); isError || got != all {
			t.Errorf("%s: got %t %s", number, isError, got)
		}
		if got, isError := s.call("git_diff_unstaged", `{"repo_path":"`+dir+`/dirty","context_lines":`+number+`}`); isError {
			t.Errorf("%s lines: got %s", number, got)
		}
	}
}
