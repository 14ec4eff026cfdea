package host

import (
	"context"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/watch"
)

// watchDelay keeps the first examination of files from slowing down the first responses.
const watchDelay = 250 * time.Millisecond

// Watch starts to watch the config, the directory of plugins, manifests, modules, trust records and what plugins require, and
// calls Reload after each change. It returns at once. Watching ends with ctx or with the host. An error of Reload is logged,
// and the next change is another attempt.
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
			Existing: func() []string { return h.catalog().RequiredPaths() },
			Since:    h.opened, Log: h.options.Log,
			Changed: func() {
				if h.lock(ctx) == nil {
					defer h.unlock()
					_ = h.reloadLocked(ctx) // logged
				}
			},
		})
	}()
}

// watchedPaths returns the paths that decide what is served, and those that decided a change that was rejected.
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
