package git

import (
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// State describes what is checked out in a repository: the branch, its upstream, and operations in progress such as a merge.
func State(repo string) (abi.GitState, error) {
	var state abi.GitState
	err := sdk.HostCall(abi.OpGitState, abi.GitRepo{Repo: repo}, &state)
	return state, err
}

// Refs returns the references whose full names begin with prefix, such as refs/heads/.
func Refs(repo, prefix string) ([]abi.GitReference, error) {
	var refs abi.GitRefs
	err := sdk.HostCall(abi.OpGitRefs, abi.GitRefsQuery{Repo: repo, Prefix: prefix}, &refs)
	return refs.Refs, err
}

// History returns the commits of a range, in the order of git log.
func History(query abi.GitHistoryQuery) (abi.GitHistory, error) {
	var history abi.GitHistory
	err := sdk.HostCall(abi.OpGitHistory, query, &history)
	return history, err
}

// Changes returns the files that differ between two trees, a tree and the index, or one of them and the working tree.
func Changes(query abi.GitChangesQuery) (abi.GitChanges, error) {
	var changes abi.GitChanges
	err := sdk.HostCall(abi.OpGitChanges, query, &changes)
	return changes, err
}

// Objects calls take with each of the objects that full hashes name, in their order. An object that does not exist has no type. If take
// returns an error, Objects stops and returns that error.
func Objects(repo string, take func(abi.GitStoredObject) error, hashes ...string) error {
	for len(hashes) > 0 {
		var page abi.GitObjects
		query := abi.GitHashes{Repo: repo, Hashes: hashes[:min(len(hashes), maxHashes)]}
		if err := sdk.HostCall(abi.OpGitObjects, query, &page); err != nil {
			return err
		}
		for _, object := range page.Objects {
			if err := take(object); err != nil {
				return err
			}
		}
		if len(page.Objects) == 0 {
			return nil // there is no repository
		}
		hashes = hashes[len(page.Objects):]
	}
	return nil
}

const maxHashes = 1000 // most hashes of one operation

// Abbreviate returns the abbreviations of full hashes, in their order. The objects need not exist.
func Abbreviate(repo string, hashes ...string) ([]string, error) {
	var all []string
	for len(hashes) > 0 {
		n := min(len(hashes), maxHashes)
		var page abi.GitAbbreviated
		if err := sdk.HostCall(abi.OpGitAbbreviate, abi.GitHashes{Repo: repo, Hashes: hashes[:n]}, &page); err != nil {
			return nil, err
		}
		if len(page.Hashes) != n {
			return nil, nil // there is no repository
		}
		all, hashes = append(all, page.Hashes...), hashes[n:]
	}
	return all, nil
}
