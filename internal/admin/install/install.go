// Package install changes what is installed: it adds plugins to a config and removes them, prepares a project, records trust,
// verifies pins and compares two versions of a plugin. Adding is two calls, Propose and Proposal.Write, with the user's consent in
// between; so are ProposeSetup and ProposeTrust. Remove, Verify and Compare are one call each.
//
// It writes the config, trust records, tokens and what plugins require of a project. The texts about manifests come from package
// review. An error that the user can correct is a *usage.Error.
package install

import (
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// expandPaths expands variables in the paths of plugins. The error names the variables that are not set.
func expandPaths(o discovery.Options, c *config.Config) error {
	var problems tomlfile.Problems
	for _, p := range config.Expand(c, discovery.LookupEnv(o.System)) {
		if slices.ContainsFunc(c.Plugins, func(have config.Plugin) bool { return p.Key == have.Key+".path" }) {
			problems = append(problems, p)
		}
	}
	if err := problems.Err(); err != nil {
		return &usage.Error{Err: err}
	}
	return discovery.ResolveNames(o, c)
}

// pathInConfig returns dir as the config in file names it: relative if dir is below the directory of the config.
func pathInConfig(file, dir string) string {
	rel, err := filepath.Rel(filepath.Dir(file), dir)
	if err != nil || !filepath.IsLocal(rel) {
		return dir
	}
	return rel
}
