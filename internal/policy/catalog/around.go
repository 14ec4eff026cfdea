package catalog

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// partOfRepository warns if a plugin is granted the project as a repository, but the project is only a part of one. The plugin then finds
// none: what the user named as the project is not extended to the rest of the repository.
func partOfRepository(m *manifest.Manifest, granted []config.Git, places config.Places) tomlfile.Problems {
	asks := func(g config.Git) bool { return contain.Within(places.Project, g.Repo) }
	covers := func(g config.Git) bool { return contain.Within(g.Repo, places.Around) }
	if places.Around == "" || !slices.ContainsFunc(granted, asks) || slices.ContainsFunc(granted, covers) {
		return nil
	}
	return tomlfile.Problems{{File: m.File, Key: "capabilities.git", Warning: true,
		What:   fmt.Sprintf("the project %s is a part of the repository %s, which is not granted: the plugin finds no repository", places.Project, places.Around),
		Remedy: "pass --project " + places.Around + " to make the whole repository the project"}}
}
