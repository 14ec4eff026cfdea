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

// Watch makes the host Reload whenever the config, the directory of plugins, a manifest, a module or a trust record changes, or
// something that a plugin requires is created or removed, until ctx ends or the host is closed. It returns at once. An error is logged, and the next change is another attempt.
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
			Paths: func() []string { return h.watchedPaths(ctx) }, Existing: func() []string { return h.catalog().RequiredPaths() }, Since: h.opened, Log: h.options.Log,
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
