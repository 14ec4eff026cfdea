package status_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/status"
)

// fake is a host whose repository has no differences but those of the status. Methods that it lacks panic.
type fake struct {
	repository.Host
	state         repository.State
	paths         []repository.PathStatus
	truncated     bool
	ahead, behind int
}

func (f fake) State(string) (repository.State, error) {
	f.state.Found, f.state.TopLevel = true, "/r"
	return f.state, nil
}

func (fake) Changes(string, string, string, int) ([]repository.Change, bool, error) {
	return nil, false, nil
}

func (f fake) Status(string, int) ([]repository.PathStatus, bool, error) {
	return f.paths, f.truncated, nil
}

func (f fake) History(x repository.Range) (repository.History, error) {
	if x.From[0] == f.state.Commit {
		return repository.History{Count: f.ahead}, nil
	}
	return repository.History{Count: f.behind}, nil
}

func TestStatusIsDescribedAsByGit(t *testing.T) {
	on := repository.State{Branch: "main", Commit: "c"}
	tracking := repository.State{Branch: "main", Commit: "c", Upstream: "refs/remotes/origin/main", UpstreamCommit: "u"}
	in := func(name string) repository.State {
		return repository.State{Branch: "main", Commit: "c", Operations: []repository.Operation{{Name: name, Commit: "abc"}}}
	}
	const clean = "nothing to commit, working tree clean"
	for name, c := range map[string]struct {
		host fake
		want string
	}{
		"clean":            {fake{state: on}, "On branch main\n" + clean},
		"no commit":        {fake{state: repository.State{Branch: "main"}}, "On branch main\n\nNo commits yet\n\nnothing to commit (create/copy files and use \"git add\" to track)"},
		"detached":         {fake{state: repository.State{Commit: "c", Detached: "v1"}}, "HEAD detached at v1\n" + clean},
		"detached, moved":  {fake{state: repository.State{Commit: "c", Detached: "v1", Moved: true}}, "HEAD detached from v1\n" + clean},
		"no branch":        {fake{state: repository.State{Commit: "c"}}, "Not currently on any branch.\n" + clean},
		"up to date":       {fake{state: tracking}, "On branch main\nYour branch is up to date with 'origin/main'.\n\n" + clean},
		"ahead":            {fake{state: tracking, ahead: 1}, "On branch main\nYour branch is ahead of 'origin/main' by 1 commit.\n  (use \"git push\" to publish your local commits)\n\n" + clean},
		"behind":           {fake{state: tracking, behind: 2}, "On branch main\nYour branch is behind 'origin/main' by 2 commits, and can be fast-forwarded.\n  (use \"git pull\" to update your local branch)\n\n" + clean},
		"diverged":         {fake{state: tracking, ahead: 1, behind: 2}, "On branch main\nYour branch and 'origin/main' have diverged,\nand have 1 and 2 different commits each, respectively.\n  (use \"git pull\" to merge the remote branch into yours)\n\n" + clean},
		"upstream is gone": {fake{state: repository.State{Branch: "main", Commit: "c", Upstream: "refs/remotes/o/x"}}, "On branch main\nYour branch is based on 'o/x', but the upstream is gone.\n  (use \"git branch --unset-upstream\" to fixup)\n\n" + clean},
		"untracked": {fake{state: on, paths: []repository.PathStatus{{Path: "a b", Staged: "?", Unstaged: "?"}, {Path: "ü", Staged: "?", Unstaged: "?"}}},
			"On branch main\nUntracked files:\n  (use \"git add <file>...\" to include in what will be committed)\n\ta b\n\t\"\\303\\274\"\n\nnothing added to commit but untracked files present (use \"git add\" to track)"},
		"a merge that is finished": {fake{state: in("merge")}, "On branch main\nAll conflicts fixed but you are still merging.\n  (use \"git commit\" to conclude merge)\n"},
		"a merge with a conflict": {fake{state: in("merge"), paths: []repository.PathStatus{{Path: "x", Staged: "U", Unstaged: "U"}}},
			"On branch main\nYou have unmerged paths.\n  (fix conflicts and run \"git commit\")\n  (use \"git merge --abort\" to abort the merge)\n\nUnmerged paths:\n  (use \"git add <file>...\" to mark resolution)\n\tboth modified:   x\n\nno changes added to commit (use \"git add\" and/or \"git commit -a\")"},
		"a bisection": {fake{state: in("bisect")}, "On branch main\nYou are currently bisecting.\n  (use \"git bisect reset\" to get back to the original branch)\n\n" + clean},
	} {
		r, err := repository.Open(c.host, "/r")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := status.Describe(r); err != nil || got != c.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}

func TestLargeStatusIsRefused(t *testing.T) {
	r, err := repository.Open(fake{state: repository.State{Branch: "main", Commit: "c"}, truncated: true}, "/r")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := status.Describe(r); err == nil || !strings.Contains(err.Error(), "more than 10000 files have changed") {
		t.Errorf("got %q, %v", got, err)
	}
}
