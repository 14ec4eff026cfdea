package host

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/watch"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// watchDelay is the time before Watch examines files for the first time, so that this does not slow down the first responses.
const watchDelay = 250 * time.Millisecond

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
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// requiredPaths returns the paths that plugins require to exist.
func (h *Host) requiredPaths() []string {
	now := h.views.Load()
	if now == nil {
		return h.catalog().RequiredPaths()
	}
	var paths []string
	for _, c := range now.projects {
		paths = append(paths, c.RequiredPaths()...)
	}
	return paths
}
