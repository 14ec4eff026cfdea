package host

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/watch"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/projectskills"
)

// watchDelay is the time before Watch examines files for the first time, so that this does not slow down the first responses.
const watchDelay = 250 * time.Millisecond

// maxSkillFiles bounds the watched files and directories of the skills of all projects.
const maxSkillFiles = 2000

// Watch starts to watch the config, the directory of plugins, manifests, modules, trust records and the paths that plugins require. It
// calls Reload after each change. Watch itself returns at once. Watching ends when ctx ends or the host is closed. If Reload fails, its
// error is logged, and the next change causes another attempt.
func (h *Host) Watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.ended, cancel)
	go func() {
		defer cancel()
		defer stop()
		select {
		case <-time.After(watchDelay):
		case <-ctx.Done():
			return
		}
		watch.Run(ctx, watch.Config{
			Paths:    func() []string { return h.watchedPaths(ctx) },
			Existing: h.requiredPaths,
			Log:      h.options.Log,
			Changed: func() {
				if h.lock(ctx) == nil {
					defer h.unlock()
					_ = h.reloadLocked(ctx, hclog.Debug) // Reload has logged the error
				}
			},
		})
	}()
}

// watchedPaths returns the paths whose content decides what is served, and those that decided a rejected change.
func (h *Host) watchedPaths(ctx context.Context) []string {
	if h.lock(ctx) != nil {
		return nil
	}
	defer h.unlock()
	c := h.catalog()
	paths := slices.Concat(discovery.Watched(h.reloadOptions(c), c.Config != "" && c.Invalid == nil), c.Watched(), h.rejected)
	var files []string
	for _, c := range h.servedProjects() {
		if len(files) >= maxSkillFiles {
			break
		}
		watched, _ := projectskills.Watched(c)
		files = append(files, watched...)
	}
	paths = append(paths, files[:min(len(files), maxSkillFiles)]...)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// requiredPaths returns the paths that plugins require to exist.
func (h *Host) requiredPaths() []string {
	var paths []string
	for _, c := range h.servedProjects() {
		paths = append(paths, c.RequiredPaths()...)
	}
	return paths
}

// servedProjects returns the complete Catalogs of the projects that are served, the server's own first.
func (h *Host) servedProjects() []*catalog.Catalog {
	now := h.views.Load()
	if now == nil {
		return []*catalog.Catalog{h.catalog()}
	}
	var projects []*catalog.Catalog
	for _, name := range slices.Sorted(maps.Keys(now.projects)) {
		projects = append(projects, now.projects[name])
	}
	return projects
}
