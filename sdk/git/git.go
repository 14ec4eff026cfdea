// Package git reads the repositories that the host granted. The host does the reading: no git program
// runs, and nothing outside of the grant is opened. Repo is the absolute path of a repository's top
// level. Errors are *sdk.HostError where the host refused.
package git

import (
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// BranchExists tells whether repo has a local branch of that name. A folder that is no repository has
// none.
func BranchExists(repo, branch string) (bool, error) {
	var exists bool
	err := sdk.HostCall(abi.OpGitBranchExists, abi.GitBranch{Repo: repo, Branch: branch}, &exists)
	return exists, err
}

// ReadFile returns the file at path (relative to the top level, with slashes) as it is on a local
// branch. Found is false where the repository, the branch or the file does not exist.
func ReadFile(repo, branch, path string) (content []byte, found bool, err error) {
	var file abi.GitContent
	err = sdk.HostCall(abi.OpGitReadFile, abi.GitFile{Repo: repo, Branch: branch, Path: path}, &file)
	return file.Content, file.Found, err
}

// FindCommit returns the abbreviated hash of the newest commit reachable from HEAD whose message
// contains text, to the letter; "" if there is none.
func FindCommit(repo, text string) (hash string, err error) {
	var commit abi.GitCommit
	err = sdk.HostCall(abi.OpGitFindCommit, abi.GitSearch{Repo: repo, Text: text}, &commit)
	return commit.Hash, err
}
