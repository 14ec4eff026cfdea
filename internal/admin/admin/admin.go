// Package admin implements the administration commands: add a plugin to a config and remove it, trust a config,
// verify pins, explain grants, compare two plugins, compile modules ahead of time, and examine the installation.
// Adding is two calls, Propose and Proposal.Write, with the user's consent in between; so is trusting, with
// ProposeTrust and TrustProposal.Write. Remove, Verify, Explain, Compare, Warm and Examine are one call each.
//
// It writes the config, trust records and the cache of compiled code only. The texts about manifests come from package
// review. An error that the user can correct is a *usage.Error.
package admin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// absolutePath makes a path absolute, relative to the host's working directory with symbolic links resolved.
func absolutePath(o discovery.Options, path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	dir := o.System.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return "", fmt.Errorf("working directory: %w", err)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	return filepath.Join(dir, path), nil
}

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
