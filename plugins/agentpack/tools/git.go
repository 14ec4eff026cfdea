package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
)

// repositories are those that the host answers for.
type repositories struct{}

// TopLevel implements project.Git and doctor.Git.
func (repositories) TopLevel(path string) (string, error) { return git.TopLevel(path) }

// Origin implements project.Git.
func (repositories) Origin(repo string) (string, error) { return git.RemoteURL(repo, "") }

// Ignored implements doctor.Git.
func (repositories) Ignored(repo string, paths ...string) ([]bool, error) {
	return git.Ignored(repo, paths...)
}

// ListRemote implements gitmodule.Remote.
func (repositories) ListRemote(url string, names ...string) ([]module.RemoteRef, error) {
	found, err := git.ListRemote(url, names...)
	var refs []module.RemoteRef
	for _, ref := range found {
		refs = append(refs, module.RemoteRef{Name: ref.Name, Hash: ref.Hash, Peeled: ref.Peeled})
	}
	return refs, err
}

// Fetch implements gitmodule.Remote.
func (repositories) Fetch(url, commit string, take func(module.RemoteFile) error) error {
	return git.Fetch(url, commit, "", func(file abi.GitFetchedFile) error {
		return take(module.RemoteFile{Path: file.Path, Link: file.Mode == abi.GitModeLink, Content: file.Content})
	})
}
