package tools

import (
	"cmp"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
)

// repository is the Git repository that contains the root of a project. Its methods ask the host to read that repository. It implements
// workflow.Git.
type repository struct {
	root   string // the root of the project, which may be a subdirectory of the repository
	denied error  // the refusal of an earlier operation; further ones would be refused, too
}

func (r *repository) BranchExists(branch string) (exists bool, err error) {
	if r.denied == nil {
		exists, err = git.BranchExists(r.root, branch)
	}
	return exists, r.check(unlessInvalid(err))
}

func (r *repository) ReadFile(branch, path string) (content []byte, found bool, err error) {
	var top string
	if r.denied == nil {
		top, err = git.TopLevel(r.root)
	}
	if err := r.check(err); err != nil || top == "" {
		return nil, false, err
	}
	below, err := filepath.Rel(top, r.root)
	if err != nil {
		return nil, false, err
	}
	content, found, err = git.ReadFile(r.root, branch, filepath.ToSlash(filepath.Join(below, path)))
	return content, found, r.check(unlessInvalid(err))
}

func (r *repository) FindCommit(text string) (hash string, err error) {
	if r.denied == nil {
		hash, err = git.FindCommit(r.root, text)
	}
	return hash, r.check(err)
}

// check returns the error of an operation, and remembers a refusal.
func (r *repository) check(err error) error {
	if sdk.ErrorCode(err) == abi.HostDenied {
		r.denied = err
	}
	return cmp.Or(r.denied, err)
}

// unlessInvalid returns nil if err only means that a spec contains a name that no branch or file in a branch can have.
func unlessInvalid(err error) error {
	if sdk.ErrorCode(err) == abi.HostInvalid {
		return nil
	}
	return err
}
