package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/desired"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/gitmodule"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/pipeline"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/snapshot"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// worldOf is where a call in these surroundings gets its answers from. Modules from git keep their warnings in
// checkouts.
func worldOf(at env.Env) (world pipeline.World, checkouts *gitmodule.Checkouts) {
	checkouts = gitmodule.New(gitmodule.Config{Cache: at.GitCache(), Remote: repositories{}, Lock: sdk.Lock})
	return pipeline.World{
		Env: at, Git: repositories{}, Checkouts: checkouts,
		LastDeploy: func() ([]desired.Key, error) { return snapshot.Managed(at.Snapshots()) },
	}, checkouts
}
