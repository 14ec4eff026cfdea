package dispatch

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// generation is the state that is served at one time: the views of one configuration. It is immutable, except that views are added, and
// those of single principals removed. A request is executed with the generation that was current when the request was found, even if that
// generation is replaced before the request ends. A replaced generation is closed after its last request: its workers and its audit log
// are closed, unless a later generation shares them.
type generation struct {
	dispatcher *Dispatcher
	first      *view // of the default Catalog
	views      atomic.Pointer[map[catalog.Key]*view]
	lanes      map[laneKey]*lane // guarded by dispatcher.mu
	wide       map[string]bool   // names of the plugins that have one lane for all projects: see laneKey
	audit      *audit.Log        // audit log of the generation; nil if none is kept
	skills     skillCache

	uses   atomic.Int64 // number of requests in flight, plus one while the generation is current
	closed sync.Once
}

// newGeneration returns the generation of the Catalogs all, which is to replace the generation old. old may be nil. The new generation
// takes over the runners of plugins that have not changed. newGeneration does not modify old.
func newGeneration(d *Dispatcher, all []*catalog.Catalog, old *generation) *generation {
	g := &generation{dispatcher: d, lanes: map[laneKey]*lane{}, wide: widePlugins(all)}
	g.uses.Store(1)
	have, views := old.runners(), map[catalog.Key]*view{}
	for i, c := range all {
		views[c.Key] = g.newView(c, have)
		if i == 0 {
			g.first = views[c.Key]
		}
	}
	g.views.Store(&views)
	return g
}

// catalog returns the default Catalog.
func (g *generation) catalog() *catalog.Catalog { return g.first.catalog }

// view returns the view with a key; nil if the generation has none.
func (g *generation) view(key catalog.Key) *view {
	if g.first.catalog.Key == key {
		return g.first
	}
	return (*g.views.Load())[key]
}

// plugins returns the plugins of all views.
func (g *generation) plugins() iter.Seq[*plugin] {
	return func(yield func(*plugin) bool) {
		for _, v := range *g.views.Load() {
			for _, p := range v.plugins {
				if !yield(p) {
					return
				}
			}
		}
	}
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
	for p := range g.plugins() {
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
		for p := range g.plugins() {
			runners[p.runner] = p.Name
		}
		if g.audit != nil {
			logs[g.audit] = true
		}
	}
	return runners, logs
}

// pinned is a request that keeps its view, and so its generation, open until its call has ended.
type pinned struct {
	gateway.Queued
	view *view
}

// Execute implements gateway.Queued.
func (p *pinned) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	defer p.view.release()
	return p.Queued.Execute(ctx, n)
}

// ResponseWritten implements gateway.ResponseWritten.
func (p *pinned) ResponseWritten() {
	if held, ok := p.Queued.(gateway.ResponseWritten); ok {
		held.ResponseWritten()
	}
}
