package tools

import (
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
)

// repository is the path of the root of a Git repository. Its methods ask the host to read that repository.
type repository string

// BranchExists implements workflow.Git.
func (r repository) BranchExists(branch string) (bool, error) {
	return git.BranchExists(string(r), branch)
}

// ReadFile implements workflow.Git.
func (r repository) ReadFile(branch, path string) ([]byte, bool, error) {
	return git.ReadFile(string(r), branch, path)
}

// FindCommit implements workflow.Git. It returns "" for a repository to which the plugin has no grant.
func (r repository) FindCommit(text string) (string, error) {
	hash, err := git.FindCommit(string(r), text)
	if sdk.ErrorCode(err) == abi.HostDenied {
		return "", nil
	}
	return hash, err
}
