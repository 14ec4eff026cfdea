// Package git reads the Git repositories that the host grants, and commits to them. Start with TopLevel and ReadFile. The host accesses a
// repository without a git program, and opens nothing outside of the grant. Parameters called repo are the absolute path of a repository's
// top level. If the host refuses an operation, the error is an *sdk.HostError.
//
// Stability: exported names stay within a major version.
package git

import (
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// BranchExists reports whether repo has a local branch called branch. If repo is not a repository, the result is false.
func BranchExists(repo, branch string) (bool, error) {
	var exists bool
	err := sdk.HostCall(abi.OpGitBranchExists, abi.GitBranch{Repo: repo, Branch: branch}, &exists)
	return exists, err
}

// ReadFile returns the content of a file on a local branch. path is slash-separated and relative to the top level. found is false if the
// repository, the branch or the file does not exist.
func ReadFile(repo, branch, path string) (content []byte, found bool, err error) {
	var file abi.GitContent
	err = sdk.HostCall(abi.OpGitReadFile, abi.GitFile{Repo: repo, Branch: branch, Path: path}, &file)
	return file.Content, file.Found, err
}

// FindCommit returns the abbreviated hash of the newest commit that is reachable from HEAD and whose message contains text. Case matters. The
// hash is empty if there is no such commit.
func FindCommit(repo, text string) (hash string, err error) {
	var commit abi.GitCommit
	err = sdk.HostCall(abi.OpGitFindCommit, abi.GitSearch{Repo: repo, Text: text}, &commit)
	return commit.Hash, err
}
