// Package admin is what the commands of an admin do: add a plugin to a config and remove it, check that what
// is pinned still matches, say what is granted and why, compare two plugins, and examine a whole
// installation. Propose and Proposal.Write add; Remove, Verify, Explain, Compare and Examine are one call
// each.
//
// It changes a config, by renaming a new file over it, and nothing else. It words nothing about manifests:
// that is package review. An error that the caller can put right is a *host.UsageError.
package admin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

func usage(format string, args ...any) error {
	return &host.UsageError{Err: fmt.Errorf(format, args...)}
}

// absolute is a path of the user's as seen from the host's working directory.
func absolute(o host.Options, path string) (string, error) {
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

// lookup looks up a variable of the host's environment.
func lookup(o host.Options) func(string) (string, bool) {
	if o.System.LookupEnv != nil {
		return o.System.LookupEnv
	}
	return os.LookupEnv
}

// expandPaths puts in what the plugins' paths name of the environment; the error says which have no value.
func expandPaths(o host.Options, c *config.Config) error {
	var about tomlfile.Problems
	for _, p := range config.Expand(c, lookup(o)) {
		if slices.ContainsFunc(c.Plugins, func(have config.Plugin) bool { return p.Key == have.Key+".path" }) {
			about = append(about, p)
		}
	}
	if err := about.Err(); err != nil {
		return &host.UsageError{Err: err}
	}
	return nil
}

// sameFolder tells whether two paths are of one folder, by whatever name.
func sameFolder(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// pathFor is dir as the config in file is to name it: relative to its folder if it lies there.
func pathFor(file, dir string) string {
	rel, err := filepath.Rel(filepath.Dir(file), dir)
	if err != nil || !filepath.IsLocal(rel) {
		return dir
	}
	return rel
}
