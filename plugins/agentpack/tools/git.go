package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
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
func (repositories) ListRemote(url string, names ...string) ([]module.RemoteRef, error) {
	found, err := git.ListRemote(url, names...)
	var refs []module.RemoteRef
	for _, ref := range found {
		refs = append(refs, module.RemoteRef{Name: ref.Name, Hash: ref.Hash, Peeled: ref.Peeled})
	}
	return refs, err
}

// Fetch implements module.Remote.
func (repositories) Fetch(url, commit string, take func(module.RemoteFile) error) error {
	return git.Fetch(url, commit, "", func(file abi.GitFetchedFile) error {
		return take(module.RemoteFile{Path: file.Path, Link: file.Mode == abi.GitModeLink, Content: file.Content})
	})
}
