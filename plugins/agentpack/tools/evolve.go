package tools

import (
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/evolve"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
)

// prepareEvolve prepares a call that writes files unless it is a dry run.
func (c *call) prepareEvolve() (*plan.Prepared, error) {
	if !c.dryRun {
		if err := c.recover(); err != nil {
			return nil, err
		}
	}
	return c.prepare()
}

// evolvePropose commits edits of deployed files to a new branch of the config repo.
func evolvePropose(c *call) (any, error) {
	result, err := c.prepareEvolve()
	if err != nil {
		return nil, err
	}
	payload, warnings, err := evolve.Propose(result, repositories{}, evolve.Request{
		ModuleID: c.moduleID, Scope: module.Layer(c.scope), Branch: c.branch, DryRun: c.dryRun, Prefix: c.prefix(),
	})
	c.warnings = append(c.warnings, warnings...)
	return payload, err
}

// evolveRestore writes deployed files that are missing again.
func evolveRestore(c *call) (any, error) {
	result, err := c.prepareEvolve()
	if err != nil {
		return nil, err
	}
	restored, warnings, err := evolve.Restore(result, c.deployer().Applier(), c.moduleID, c.dryRun)
	c.warnings = append(c.warnings, warnings...)
	return restored, err
}

// Status implements evolve.Git. It requires the config repo to be the top level of a repository, because File.Path is
// relative to the top level.
func (repositories) Status(repo string) (paths []string, found bool, err error) {
	top, err := git.TopLevel(repo)
	if err != nil || top == "" {
		return nil, false, err
	}
	if real, err := disk.Resolve(repo); err != nil || real != top {
		return nil, false, err
	}
	status, err := git.Status(repo, 0)
	for _, path := range status.Paths {
		paths = append(paths, path.Path)
	}
	return paths, status.Found, err
}

// Commit implements evolve.Git.
func (repositories) Commit(repo, branch, message string, files []evolve.File) error {
	commit := abi.GitNewCommit{Repo: repo, Branch: branch, Message: message}
	for _, file := range files {
		commit.Changes = append(commit.Changes, abi.GitChange{Path: file.Path, Content: file.Content})
	}
	_, err := git.CommitBranch(commit)
	var refused *sdk.HostError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Reason == abi.ReasonNoIdentity:
		return fmt.Errorf("%w (%s)", evolve.ErrNoIdentity, refused.Message)
	case refused.Code == abi.HostDenied:
		return fmt.Errorf(`%w; to create branches the plugin needs the grant git = [{ repo = %q, access = "rw" }]`, err, repo)
	}
	return err
}
