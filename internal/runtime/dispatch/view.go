package dispatch

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// view is what a generation serves to the clients of one Catalog: those of one project to whom the same table of the config applies.
type view struct {
	generation *generation
	catalog    *catalog.Catalog
	plugins    []*plugin // the plugins, each at its index in catalog.Plugins

	uses   atomic.Int64 // of a view that can be removed: number of requests in flight, plus one until it is removed
	closed sync.Once
}

// isRemovable reports whether the view is that of a single principal, which is removed when the principal has not called for a while.
func (v *view) isRemovable() bool { return v.catalog.Key.Dir != "" }

// acquireView returns the view with a key, in the current generation, and adds a use of both. The caller must call release. If there is no
// such view, the result is nil.
func (d *Dispatcher) acquireView(key catalog.Key) *view {
	for {
		g := d.acquire()
		v := g.view(key)
		switch {
		case v == nil:
			g.release()
			return nil
		case !v.isRemovable():
			return v
		}
		v.uses.Add(1)
		if g.view(key) == v {
			return v
		}
		v.release() // the view was removed after it was found, and may be closed
	}
}

// release ends a use of the view and of its generation.
func (v *view) release() {
	if v.isRemovable() {
		v.end()
	}
	v.generation.release()
}

// end ends a use of a removable view. After the last use, it closes the workers that no other view shares.
func (v *view) end() {
	if v.uses.Add(-1) > 0 {
		return
	}
	v.closed.Do(func() {
		shared, _ := v.generation.dispatcher.open()
		for _, p := range v.plugins {
			if _, isShared := shared[p.runner]; !isShared {
				p.runner.close()
			}
		}
	})
}

// AddView adds a Catalog to those of further requests, unless there is one with its key, until Apply replaces all of them. Calls of AddView, RemoveView, Prepare, Apply and
// Close must not be concurrent.
func (d *Dispatcher) AddView(c *catalog.Catalog) {
	g := d.current.Load()
	if g.view(c.Key) != nil {
		return
	}
	v := g.newView(c, g.runners())
	g.change(func(views map[catalog.Key]*view) { views[c.Key] = v })
}

// RemoveView removes the Catalog of a single principal, whose key has a Dir. Requests in flight end first.
func (d *Dispatcher) RemoveView(key catalog.Key) {
	g := d.current.Load()
	v := g.view(key)
	if v == nil || !v.isRemovable() {
		return
	}
	g.change(func(views map[catalog.Key]*view) { delete(views, key) })
	left := g.runners()
	for _, p := range v.plugins {
		if other := left.with(p.runner, p.Name); other != nil {
			p.runner.plugin.CompareAndSwap(p, other)
		}
	}
	v.end()
}

// change replaces the views of the generation by changed ones.
func (g *generation) change(how func(map[catalog.Key]*view)) {
	views := maps.Clone(*g.views.Load())
	how(views)
	g.dispatcher.mu.Lock()
	defer g.dispatcher.mu.Unlock()
	g.views.Store(&views)
}

// Backend is the gateway.Backend of one view, in whichever generation is current.
type Backend struct {
	dispatcher *Dispatcher
	key        catalog.Key
}

var _ gateway.Backend = (*Backend)(nil)

// BackendOf returns the Backend of the Catalog with a key. While there is no such Catalog, everything is unknown to its clients.
func (d *Dispatcher) BackendOf(key catalog.Key) *Backend { return &Backend{d, key} }

// Find implements gateway.Backend.
func (b *Backend) Find(r call.Request) (gateway.Queued, *abi.Error) {
	queued, err := b.pin(r, (*view).find)
	if err != nil {
		return nil, err // not a nil *pinned, which would be a Queued
	}
	return queued, nil
}

// pin finds the request in the current view, which it keeps until the request has ended.
func (b *Backend) pin(r call.Request, find func(*view, call.Request) (gateway.Queued, *abi.Error)) (*pinned, *abi.Error) {
	v := b.dispatcher.acquireView(b.key)
	if v == nil {
		return nil, gateway.Unknown(r.Method, r.Name, "")
	}
	queued, err := find(v, r)
	if err != nil {
		v.release()
		return nil, err
	}
	return &pinned{queued, v}, nil
}

// CanSubscribe implements gateway.Backend.
func (b *Backend) CanSubscribe(r call.Request) bool {
	v := b.dispatcher.acquireView(b.key)
	if v == nil {
		return false
	}
	defer v.release()
	if v.catalog.CanSubscribe(r.Name) {
		return true
	}
	v.reportRefused(r, gateway.Unknown(r.Method, r.Name, ""))
	return false
}

// ReportRefused implements gateway.Backend. It records a request for something that is not offered. The request had no effect, so the
// client gets the same response even if the record is lost.
func (b *Backend) ReportRefused(r call.Request) {
	if v := b.dispatcher.acquireView(b.key); v != nil {
		defer v.release()
		v.reportRefused(r, &abi.Error{Code: abi.CodeMethodNotFound})
	}
}

// newView returns the view of the Catalog c. Its plugins take over those runners that fit, and add the others.
func (g *generation) newView(c *catalog.Catalog, have runners) *view {
	v := &view{generation: g, catalog: c}
	v.uses.Store(1)
	for _, offered := range c.Plugins {
		p := &plugin{Plugin: offered, dispatcher: g.dispatcher, view: v, lane: g.lane(c, offered.Name)}
		if p.runner = have.of(p); p.runner == nil {
			p.runner = newRunner(p)
			have.add(p)
		}
		v.plugins = append(v.plugins, p)
	}
	return v
}

// runners are plugins that have different runners, by their names.
type runners map[string][]*plugin

// runners returns a plugin for each runner of the generation; none if g is nil.
func (g *generation) runners() runners {
	r := runners{}
	if g == nil {
		return r
	}
	for p := range g.plugins() {
		r.add(p)
	}
	return r
}

func (r runners) add(p *plugin) {
	if !slices.ContainsFunc(r[p.Name], func(other *plugin) bool { return other.runner == p.runner }) {
		r[p.Name] = append(r[p.Name], p)
	}
}

// with returns a plugin that has a runner; nil if there is none.
func (r runners) with(have *runner, name string) *plugin {
	for _, p := range r[name] {
		if p.runner == have {
			return p
		}
	}
	return nil
}

// of returns the runner that p can take over; nil if there is none.
func (r runners) of(p *plugin) *runner {
	i := slices.IndexFunc(r[p.Name], p.sharesRunner)
	if i < 0 {
		return nil
	}
	return r[p.Name][i].runner
}

// sharesRunner reports whether p can take over the runner of before.
func (p *plugin) sharesRunner(before *plugin) bool {
	now, then := p.view.catalog, before.view.catalog
	return now.Places == then.Places && p.SharesWorker(before.Plugin) &&
		// A running worker hides only those host files that existed at its start.
		!grant.Reaches(p.Grant, difference(then.HostFiles, now.HostFiles))
}

// difference returns the elements that only one of the two slices contains.
func difference(a, b []string) []string {
	missing := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	}
	return append(missing(a, b), missing(b, a)...)
}
