package branch_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/branch"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

// fake is a host with a linear history: the hash of a commit ends in its number. Methods that it lacks panic.
type fake struct {
	repository.Host
	state repository.State
}

func hash(n string) string { return strings.Repeat("0", 39) + n }

func (f fake) State(string) (repository.State, error) {
	f.state.Found, f.state.TopLevel = true, "/r"
	return f.state, nil
}

func (fake) Refs(_, prefix string) ([]repository.Ref, error) {
	if prefix == "refs/heads/" {
		return []repository.Ref{{Name: "refs/heads/main", Hash: hash("3")}, {Name: "refs/heads/old", Hash: hash("1")}, {Name: "refs/heads/tree", Hash: hash("2")}}, nil
	}
	return []repository.Ref{{Name: "refs/remotes/origin/HEAD", Hash: hash("2"), Target: "refs/remotes/origin/main"}, {Name: "refs/remotes/origin/main", Hash: hash("2")}}, nil
}

// History counts the commits of From that are not reachable from Exclude.
func (fake) History(x repository.Range) (repository.History, error) {
	n := int(x.From[0][39]) - int(x.Exclude[0][39])
	return repository.History{Count: max(n, 0)}, nil
}

func (fake) Resolve(_, name string) (string, error) {
	if name == "blob" || name == "2" {
		return map[string]string{"blob": strings.Repeat("b", 40), "2": hash("2")}[name], nil
	}
	return "", nil
}

func (fake) Objects(_ string, take func(repository.Object) error, hashes ...string) error {
	o := repository.Object{Hash: hashes[0], Type: "commit", Content: []byte("tree t\nauthor A <a> 1 +0000\n\nx")}
	if hashes[0][0] == 'b' {
		o = repository.Object{Hash: hashes[0], Type: "blob"}
	}
	return take(o)
}

func list(t *testing.T, state repository.State, q branch.Query) (string, error) {
	t.Helper()
	r, err := repository.Open(fake{state: state}, "/r")
	if err != nil {
		t.Fatal(err)
	}
	return branch.List(r, q)
}

func TestBranchesAreListed(t *testing.T) {
	second, on := "2", repository.State{Branch: "main", Commit: hash("3"), Worktrees: []string{"refs/heads/tree"}}
	for name, c := range map[string]struct {
		state repository.State
		query branch.Query
		want  string
	}{
		"local":           {on, branch.Query{Type: "local"}, "* main\n  old\n+ tree"},
		"remote":          {on, branch.Query{Type: "remote"}, "  origin/HEAD -> origin/main\n  origin/main"},
		"all":             {on, branch.Query{Type: "all"}, "* main\n  old\n+ tree\n  remotes/origin/HEAD -> origin/main\n  remotes/origin/main"},
		"with a commit":   {on, branch.Query{Type: "local", Contains: &second}, "* main\n+ tree"},
		"without one":     {on, branch.Query{Type: "local", NotContains: &second}, "  old"},
		"both":            {on, branch.Query{Type: "local", Contains: &second, NotContains: &second}, ""},
		"detached":        {repository.State{Commit: hash("1"), Detached: "v1"}, branch.Query{Type: "local"}, "* (HEAD detached at v1)\n  main\n  old\n  tree"},
		"detached, moved": {repository.State{Commit: hash("3"), Detached: "v1", Moved: true}, branch.Query{Type: "local", Contains: &second}, "* (HEAD detached from v1)\n  main\n  tree"},
		"no branch":       {repository.State{Commit: hash("1")}, branch.Query{Type: "local", NotContains: &second}, "* (no branch)\n  old"},
	} {
		if got, err := list(t, c.state, c.query); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestRequestsThatGitRefusesAreRefused(t *testing.T) {
	nope, blob := "nope", "blob"
	for want, q := range map[string]branch.Query{
		"Invalid branch type: x": {Type: "x"},
		"git branch -a --contains nope\n  stderr: 'error: malformed object name nope'": {Type: "all", Contains: &nope},
		"git branch -r --no-contains blob\n  stderr: 'error: object bbbb":              {Type: "remote", NotContains: &blob},
		"is a blob, not a commit\nerror: no such commit blob":                          {Type: "local", NotContains: &blob},
	} {
		if got, err := list(t, repository.State{Branch: "main"}, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
