package sandbox

import (
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	// maxParamsDepth bounds the nesting of an operation's parameters.
	maxParamsDepth = abi.MaxNesting
	// maxParamsValues bounds the JSON values, including unknown members, in the parameters of an operation without
	// lists.
	maxParamsValues = 100
)

// paramsValues are the limits for operations with lists. Each is higher than the operation's own limit, so that for a
// list that is slightly too long the more specific error of the operation is reported.
var paramsValues = map[string]int{
	abi.OpGitIgnored:      2_000, // 1,000 paths
	abi.OpGitObjects:      2_000, // 1,000 hashes
	abi.OpGitAbbreviate:   2_000,
	abi.OpGitAdd:          2_000,  // 1,000 paths
	abi.OpGitHistory:      1_000,  // two lists of 100 hashes
	abi.OpGitCommitBranch: 10_000, // 1,000 changes of up to 5 values each
	abi.OpGitListRemote:   1_000,  // 100 names
	abi.OpHTTPFetch:       1_000,  // 100 values of headers, each possibly in its own array
	abi.OpClaims:          abi.MaxClaims + 10_000,
	abi.OpNotify:          100_000, // forwarded without being decoded
	abi.MethodToolsCall:   100_000, // likewise
}

// admit refuses an operation before its parameters are decoded: one for which the plugin has no grant at all, and one whose
// parameters would need far more memory decoded than encoded.
func (b *Box) admit(r abi.HostRequest) error {
	if why := b.ungranted(r.Op); why != "" {
		b.config.Log.Warn("denied", "op", r.Op, "error", why)
		return &abi.HostError{Code: abi.HostDenied, Message: r.Op + ": " + why}
	}
	values, ok := paramsValues[r.Op]
	if !ok {
		values = maxParamsValues
	}
	if err := rawjson.Bound(r.Params, values, maxParamsDepth); err != nil {
		return invalidParams(err)
	}
	return nil
}

// ungranted describes the grant that an operation needs and the plugin lacks; "" if the plugin has such a grant.
func (b *Box) ungranted(op string) string {
	if b.config.Call != nil && op != abi.MethodToolsCall {
		return "scripts can only call tools"
	}
	switch op {
	case abi.OpGitBranchExists, abi.OpGitReadFile, abi.OpGitFindCommit, abi.OpGitTopLevel, abi.OpGitCurrentBranch, abi.OpGitResolveRef,
		abi.OpGitRemoteURL, abi.OpGitIgnored, abi.OpGitStatus, abi.OpGitState, abi.OpGitRefs, abi.OpGitHistory, abi.OpGitChanges,
		abi.OpGitObjects, abi.OpGitAbbreviate, abi.OpGitCommitBranch, abi.OpGitAdd, abi.OpGitCommit, abi.OpGitCreateBranch, abi.OpGitReset:
		if len(b.config.Repos) == 0 && b.config.Asks.Git {
			return "this plugin is granted no repository, although its manifest asks for one: the config must grant it with git in the plugin's " +
				"table, and --project must name the project if its repository is meant"
		}
		if len(b.config.Repos) == 0 {
			return "this plugin is granted no repository; its manifest must ask for one under [capabilities] git, " +
				"and --project must name the project if its repository is meant"
		}
	case abi.OpGitListRemote, abi.OpGitFetch:
		if len(b.config.Remotes) == 0 && b.config.Asks.Remotes {
			return "this plugin is granted no remote, although its manifest asks for one: the config must grant it with remotes = [URL] in git of " +
				"the plugin's table"
		}
		if len(b.config.Remotes) == 0 {
			return "this plugin is granted no remote; its manifest must ask for remotes = [URL] under [capabilities] git"
		}
	case abi.OpHTTPFetch:
		if b.config.Fetch == nil && b.config.Asks.HTTP {
			return "this plugin is granted no web server, although its manifest asks for one: the config must grant the origin with http in the " +
				"plugin's table"
		}
		if b.config.Fetch == nil {
			return "this plugin is granted no web server; its manifest must ask for an origin under [capabilities] http, " +
				"and a config must grant that origin"
		}
	}
	return ""
}

// invalidParams returns the error for invalid parameters. It truncates the reason, which may quote the module.
func invalidParams(why error) error {
	return &abi.HostError{Code: abi.HostInvalid, Message: "the parameters of the operation are invalid: " + bounded(why.Error())}
}
