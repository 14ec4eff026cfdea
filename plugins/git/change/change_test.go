//go:build unix

package change_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

const tip, tag = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"

// host is a repository with a commit, a tag of it and some references.
type host struct {
	repository.Host
	state  repository.State
	staged repository.Staged
	err    error
	calls  []string
}

func (h *host) State(string) (repository.State, error) { return h.state, nil }

func (h *host) Refs(string, string) ([]repository.Ref, error) {
	return []repository.Ref{{Name: "refs/heads/main", Hash: tip}, {Name: "refs/remotes/origin/dev", Hash: tip}, {Name: "refs/stash", Hash: tip}, {Name: "refs/tags/v1", Hash: tag}}, nil
}

func (h *host) Objects(_ string, take func(repository.Object) error, hashes ...string) error {
	for _, hash := range hashes {
		o := repository.Object{Hash: hash, Type: "commit", Content: []byte("tree " + tip + "\nauthor A <a@b> 1 +0000\n\nx\n")}
		if hash == tag {
			o = repository.Object{Hash: hash, Type: "tag", Content: []byte("object " + tip + "\ntype commit\n\nx\n")}
		}
		if err := take(o); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) Changes(string, string, string, int) ([]repository.Change, bool, error) {
	return make([]repository.Change, len(h.staged.Names)), false, h.err
}

func (h *host) Add(_ string, paths []string) (repository.Staged, error) {
	h.calls = append(h.calls, "add "+strings.Join(paths, " "))
	return h.staged, h.err
}

func (h *host) Commit(_, message string) (string, error) {
	h.calls = append(h.calls, "commit "+message)
	return tip, h.err
}

func (h *host) CreateBranch(_, branch, commit, from string) error {
	h.calls = append(h.calls, "branch "+branch+" "+commit+" "+from)
	return h.err
}

func open(t *testing.T, h *host) *repository.Repository {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h.state.Found, h.state.TopLevel = true, dir
	r, err := repository.Open(h, dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCreateBranchStartsAtCommit(t *testing.T) {
	for base, from := range map[string]string{"": "main", "main": "main", "v1": "v1", "origin/dev": "origin/dev"} {
		h := &host{state: repository.State{Branch: "main", Commit: tip}}
		text, err := change.CreateBranch(open(t, h), "new", base)
		if want := "Created branch 'new' from '" + from + "'"; err != nil || text != want || !slices.Equal(h.calls, []string{"branch new " + tip + " " + from}) {
			t.Errorf("%q: got %q, %v, %q", base, text, err, h.calls)
		}
	}
}

func TestCreateBranchRefuses(t *testing.T) {
	for name, why := range map[string]string{"-f": "cannot start with '-'", "main": "already exists", "a..b": "'..'", ".a": "'/.'", "a//b": "'//'", "a@{b": "'@{'", "a\x7f": "control",
		"a.": "end with a period", "a/": "forward slash", "a.lock/b": "'.lock'", "a*": "asterisks", "": "forward slash"} {
		h := &host{state: repository.State{Branch: "main", Commit: tip}}
		if _, err := change.CreateBranch(open(t, h), name, ""); err == nil || !strings.Contains(err.Error(), why) || len(h.calls) > 0 {
			t.Errorf("%q: got %v, %q", name, err, h.calls)
		}
	}
	for base, why := range map[string]string{"-f": "cannot start with '-'", "stash": "No item found", "heads/main": "No item found", "HEAD": "No item found"} {
		h := &host{state: repository.State{Branch: "main", Commit: tip}}
		if _, err := change.CreateBranch(open(t, h), "new", base); err == nil || !strings.Contains(err.Error(), why) || len(h.calls) > 0 {
			t.Errorf("base %q: got %v, %q", base, err, h.calls)
		}
	}
	for why, state := range map[string]repository.State{"HEAD is detached": {Commit: tip}, "Ref 'main' did not resolve": {Branch: "main"}} {
		h := &host{state: state}
		if _, err := change.CreateBranch(open(t, h), "new", ""); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want %q", err, why)
		}
	}
}

func TestAddChecksPaths(t *testing.T) {
	h := &host{state: repository.State{Branch: "main", Commit: tip}, staged: repository.Staged{Changed: true}}
	r := open(t, h)
	for target, name := range map[string]string{"loop": "loop", "/": "out", "..": "above", "b": "a", "dir": "in"} {
		if err := os.Symlink(target, filepath.Join(r.TopLevel, name)); err != nil {
			t.Fatal(err)
		}
	}
	for file, why := range map[string]string{"loop": "Invalid path: 'loop'", "out": "outside the repository", "out/etc/passwd": "outside the repository", "above/x": "outside the repository",
		"..": "outside the repository", "a\x00": "null byte", "": "empty string", "../" + filepath.Base(r.TopLevel) + "/x": "is outside repository at"} {
		if _, err := change.Add(r, []string{"a", file}); err == nil || !strings.Contains(err.Error(), why) || len(h.calls) > 0 {
			t.Errorf("%q: got %v, %q", file, err, h.calls)
		}
	}
	for _, files := range [][]string{{"."}, {"a", "in/x", "not/there"}, {r.TopLevel + "/x"}} {
		text, err := change.Add(r, files)
		if err != nil || text != "Files staged successfully" || h.calls[len(h.calls)-1] != "add "+strings.Join(files, " ") {
			t.Errorf("%q: got %q, %v, %q", files, text, err, h.calls)
		}
	}
}

func TestErrorsOfTheHostAreReported(t *testing.T) {
	broken := errors.New("broken")
	h := &host{state: repository.State{Branch: "main", Commit: tip}, err: broken}
	r := open(t, h)
	_, addErr := change.Add(r, []string{"x"})
	_, branchErr := change.CreateBranch(r, "new", "")
	_, commitErr := change.Commit(r, "x")
	for _, err := range []error{addErr, branchErr, commitErr} {
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	h.err = &repository.NoMatchError{Text: "pathspec 'x' did not match any files"}
	if _, err := change.Add(r, []string{"x"}); err == nil || err.Error() != "Cmd('git') failed due to: exit code(128)\n  cmdline: git add -- x\n  stderr: 'fatal: pathspec 'x' did not match any files'" {
		t.Errorf("got %v", err)
	}
	h.err = nil
	if _, err := change.Commit(r, "x"); err == nil || !strings.Contains(err.Error(), "No changes staged") {
		t.Errorf("nothing staged: got %v", err)
	}
	h.staged.Names = []string{"x"}
	if text, err := change.Commit(r, "x"); err != nil || text != "Changes committed successfully with hash "+tip {
		t.Errorf("got %q, %v", text, err)
	}
}
