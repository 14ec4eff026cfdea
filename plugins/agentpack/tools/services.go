package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// newServices returns the services of a call. The result checkouts collects the warnings about git modules.
func newServices(at env.Env) (world plan.Services, checkouts *module.Checkouts) {
	checkouts = module.NewCheckouts(module.CheckoutConfig{Cache: at.GitCacheDir(), Remote: repositories{}, Lock: sdk.Lock})
	return plan.Services{
		Env: at, Git: repositories{}, Checkouts: checkouts,
		LastDeploy: func() ([]output.Key, error) { return deploy.LastDeployed(at.SnapshotDir()) },
	}, checkouts
}
