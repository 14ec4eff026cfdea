package tools

import (
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
