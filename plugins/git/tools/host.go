package tools

import (
	"errors"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
)

// host implements repository.Host by operations of the host.
type host struct{}

func (host) State(repo string) (repository.State, error) {
	s, err := git.State(repo)
	state := repository.State{Found: s.Found, TopLevel: s.TopLevel, Branch: s.Branch, Commit: s.Commit, Upstream: s.Upstream,
		UpstreamCommit: s.UpstreamCommit, Detached: s.Detached, Moved: s.Moved, Worktrees: s.Worktrees}
	for _, o := range s.Operations {
		state.Operations = append(state.Operations, repository.Operation(o))
	}
	return state, err
}

func (host) Refs(repo, prefix string) ([]repository.Ref, error) {
	all, err := git.Refs(repo, prefix)
	var refs []repository.Ref
	for _, ref := range all {
		refs = append(refs, repository.Ref(ref))
	}
	return refs, err
}

func (host) History(x repository.Range) (repository.History, error) {
	all, err := git.History(abi.GitHistoryQuery(x))
	history := repository.History{Count: all.Count, Truncated: all.Truncated}
	for _, c := range all.Commits {
		history.Commits = append(history.Commits, repository.Object(c))
	}
	return history, err
}

func (host) Changes(repo, from, to string, limit int) ([]repository.Change, bool, error) {
	changes, err := git.Changes(abi.GitChangesQuery{Repo: repo, From: from, To: to, Limit: limit})
	var all []repository.Change
	for _, f := range changes.Files {
		all = append(all, repository.Change{Path: f.Path, Unmerged: f.Unmerged, Old: repository.Version(f.Old), New: repository.Version(f.New)})
	}
	return all, changes.Truncated, err
}

func (host) Objects(repo string, take func(repository.Object) error, hashes ...string) error {
	return git.Objects(repo, func(o abi.GitStoredObject) error { return take(repository.Object(o)) }, hashes...)
}

func (host) Abbreviate(repo string, hashes ...string) ([]string, error) {
	return git.Abbreviate(repo, hashes...)
}

func (host) Status(repo string, limit int) ([]repository.PathStatus, bool, error) {
	status, err := git.Status(repo, limit)
	var all []repository.PathStatus
	for _, p := range status.Paths {
		all = append(all, repository.PathStatus(p))
	}
	return all, status.Truncated, err
}

func (host) Resolve(repo, name string) (string, error) {
	found, err := git.ResolveRef(repo, name)
	if refused := (*sdk.HostError)(nil); errors.As(err, &refused) && refused.Code == abi.HostInvalid {
		return "", nil
	}
	return found.Hash, err
}

func (host) Add(repo string, paths []string) (repository.Staged, error) {
	done, err := git.Add(repo, paths...)
	if refused := (*sdk.HostError)(nil); errors.As(err, &refused) && refused.Code == abi.HostFailed {
		if at := strings.Index(refused.Message, "pathspec '"); at >= 0 {
			err = &repository.NoMatchError{Text: refused.Message[at:]}
		}
	}
	return repository.Staged(done), err
}

func (host) Commit(repo, message string) (string, error) {
	done, err := git.Commit(repo, message)
	return done.Commit, err
}

func (host) Reset(repo string) error { return git.Reset(repo) }

func (host) CreateBranch(repo, branch, commit, from string) error {
	return git.CreateBranch(repo, branch, commit, from)
}
