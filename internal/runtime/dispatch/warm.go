package dispatch

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
)

// warmDelay is the time before modules are compiled in the background. It keeps compilation from slowing down the first responses, and
// spares clients that only list tools the cost.
const warmDelay = 250 * time.Millisecond

// Warm compiles the modules of all plugins into the cache, in the background, until ctx ends. Before, it removes temporary directories of
// processes that were killed.
func (d *Dispatcher) Warm(ctx context.Context) {
	d.mu.Lock()
	d.warming = ctx
	d.mu.Unlock()
	d.background.Go(func() {
		select {
		case <-time.After(warmDelay):
		case <-ctx.Done():
			return
		case <-d.stopped.Done():
			return
		}
		tempdir.Sweep()
		d.warmAll(ctx, d.current.Load().first.plugins)
	})
}

// warmAll compiles the modules of plugins one after the other.
func (d *Dispatcher) warmAll(ctx context.Context, plugins []*plugin) {
	for _, p := range plugins {
		if ctx.Err() != nil || d.stopped.Err() != nil {
			return
		}
		p.warm(ctx)
	}
}

// warm compiles the module of a plugin. That requires neither a worker of the plugin nor its grant.
func (p *plugin) warm(ctx context.Context) {
	if !p.HasOffers() {
		return
	}
	if err := p.compile(ctx); err != nil && ctx.Err() == nil {
		p.Log.Warn("the module cannot be compiled", "error", err)
	}
}

// compile compiles the module into the cache, unless it is there. The compiler is untrusted, so a panic is an error.
func (p *plugin) compile(ctx context.Context) (err error) {
	defer guard.Recover(p.Log, "while a module was compiled", &err)
	return p.dispatcher.store.Warm(ctx, p.module())
}
