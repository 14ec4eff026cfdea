package dispatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
)

// generation is the state that is served at one time: the plugins of one Catalog. It is immutable. A request is executed with the generation
// that was current when the request was found, even if that generation is replaced before the request ends. A replaced generation is
// closed after its last request: its workers and its audit log are closed, unless a later generation shares them.
type generation struct {
	dispatcher *Dispatcher
	catalog    *catalog.Catalog
	plugins    []*plugin  // the plugins, each at its index in catalog.Plugins
	audit      *audit.Log // audit log of the generation; nil if none is kept

	uses   atomic.Int64 // number of requests in flight, plus one while the generation is current
	closed sync.Once
}

// newGeneration returns the generation of the Catalog c, which is to replace the generation old. old may be nil. The new generation takes over
// the runners of plugins that have not changed. newGeneration does not modify old.
func newGeneration(d *Dispatcher, c *catalog.Catalog, old *generation) *generation {
	g := &generation{dispatcher: d, catalog: c}
	g.uses.Store(1)
	for _, offered := range c.Plugins {
		p := &plugin{Plugin: offered, dispatcher: d, generation: g}
		if before := old.predecessor(p); before != nil {
			p.runner = before.runner
		} else {
			p.runner = newRunner(p)
		}
		p.lane = d.laneOf(p.Name)
		g.plugins = append(g.plugins, p)
	}
	return g
}

// predecessor returns the plugin of g whose runner p can take over; nil if there is none.
func (g *generation) predecessor(p *plugin) *plugin {
	if g == nil || g.catalog.Places != p.generation.catalog.Places {
		return nil
	}
	i := slices.IndexFunc(g.plugins, func(before *plugin) bool { return p.Equal(before.Plugin) })
	if i < 0 || grant.Reaches(p.Grant, difference(g.catalog.HostFiles, p.generation.catalog.HostFiles)) {
		return nil // the grant reaches host files that have changed, and a running worker hides only those that existed at its start
	}
	return g.plugins[i]
}

// laneOf returns the lane of the plugin called name, which requests in flight may occupy. If there is no such lane, laneOf creates one.
func (d *Dispatcher) laneOf(name string) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range slices.Backward(d.live) {
		for _, p := range s.plugins {
			if p.Name == name {
				return p.lane
			}
		}
	}
	return &lane{}
}

// difference returns the elements that only one of the two slices contains.
func difference(a, b []string) []string {
	missing := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	}
	return append(missing(a, b), missing(b, a)...)
}

// acquire returns the current generation and adds a use. The caller must call release.
func (d *Dispatcher) acquire() *generation {
	for {
		g := d.current.Load()
		g.uses.Add(1)
		if d.current.Load() == g {
			return g
		}
		g.release() // the generation was replaced after it was loaded, and may be closed
	}
}

// release ends a use of the generation, and closes it after the last use.
func (g *generation) release() {
	if g.uses.Add(-1) == 0 {
		g.closed.Do(g.close)
	}
}

// close closes the workers and the audit log, unless another generation shares them.
func (g *generation) close() {
	d := g.dispatcher
	d.mu.Lock()
	d.live = slices.DeleteFunc(d.live, func(other *generation) bool { return other == g })
	d.mu.Unlock()
	runners, logs := d.open()
	for _, p := range g.plugins {
		if _, shared := runners[p.runner]; !shared {
			p.runner.close()
		}
	}
	if !logs[g.audit] && g.audit != nil {
		d.background.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), auditTime)
			defer cancel()
			if err := g.audit.Close(ctx); err != nil {
				d.log.Error("the replaced audit log cannot be closed", "error", err)
			}
		})
	}
}

// auditTime bounds the time for writing the last records of a replaced audit log.
const auditTime = 10 * time.Second

// open returns the runners of all generations that are not closed, with the names of the runners' plugins, and the audit logs of these
// generations.
func (d *Dispatcher) open() (map[*runner]string, map[*audit.Log]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	runners, logs := map[*runner]string{}, map[*audit.Log]bool{}
	for _, g := range d.live {
		for _, p := range g.plugins {
			runners[p.runner] = p.Name
		}
		if g.audit != nil {
			logs[g.audit] = true
		}
	}
	return runners, logs
}

// pinned is a request that keeps its generation open until its call has ended.
type pinned struct {
	gateway.Queued
	generation *generation
}

// Execute implements gateway.Queued.
func (p *pinned) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	defer p.generation.release()
	return p.Queued.Execute(ctx, n)
}

// ResponseWritten implements gateway.ResponseWritten.
func (p *pinned) ResponseWritten() {
	if held, ok := p.Queued.(gateway.ResponseWritten); ok {
		held.ResponseWritten()
	}
}
