// Package git reads and commits to the Git repositories that the host grants. Start with TopLevel and ReadFile. The host
// accesses the repository without a git program, and opens nothing outside of the grant. Repo is the absolute path of a
// repository's top level. Errors are *sdk.HostError if the host refused.
//
// Stability: exported names stay within a major version.
package git

import (
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// BranchExists reports whether repo has a local branch. A directory that is not a repository has none.
func BranchExists(repo, branch string) (bool, error) {
	var exists bool
	err := sdk.HostCall(abi.OpGitBranchExists, abi.GitBranch{Repo: repo, Branch: branch}, &exists)
	return exists, err
}

// ReadFile returns the file at path (relative to the top level, slash-separated) on a local branch. Found is
// false if the repository, the branch or the file does not exist.
func ReadFile(repo, branch, path string) (content []byte, found bool, err error) {
	var file abi.GitContent
	err = sdk.HostCall(abi.OpGitReadFile, abi.GitFile{Repo: repo, Branch: branch, Path: path}, &file)
	return file.Content, file.Found, err
}

// FindCommit returns the abbreviated hash of the newest commit reachable from HEAD whose message
// contains text, case-sensitively; "" if there is none.
func FindCommit(repo, text string) (hash string, err error) {
	var commit abi.GitCommit
	err = sdk.HostCall(abi.OpGitFindCommit, abi.GitSearch{Repo: repo, Text: text}, &commit)
	return commit.Hash, err
}
