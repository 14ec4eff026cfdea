package tools

import (
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
)

// repositories accesses those git repositories and remotes to which the plugin has a grant.
type repositories struct{}

// TopLevel implements env.Git and report.DoctorGit.
func (repositories) TopLevel(path string) (string, error) { return git.TopLevel(path) }

// Origin implements env.Git.
func (repositories) Origin(repo string) (url, id string, err error) {
	origin, err := git.Remote(repo, "")
	return origin.URL, origin.Digest, err // the host computes the digest in the same way as env.ProjectID
}

// Ignored implements report.DoctorGit.
func (repositories) Ignored(repo string, paths ...string) ([]bool, error) {
	return git.Ignored(repo, paths...)
}

// ListRemote implements module.Remote.
func (repositories) ListRemote(url string, names ...string) ([]abi.GitRemoteRef, error) {
	return git.ListRemote(url, names...)
}

// Fetch implements module.Remote.
func (repositories) Fetch(url, commit string, take func(abi.GitFetchedFile) error) error {
	return git.Fetch(url, commit, "", take)
}
