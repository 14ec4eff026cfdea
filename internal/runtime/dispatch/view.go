package dispatch

import (
	"slices"

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
	g := b.dispatcher.acquire()
	queued, err := g.view(b.key).find(r)
	if err != nil {
		g.release()
		return nil, err
	}
	return &pinned{queued, g}, nil
}

// CanSubscribe implements gateway.Backend.
func (b *Backend) CanSubscribe(r call.Request) bool {
	g := b.dispatcher.acquire()
	defer g.release()
	v := g.view(b.key)
	if v != nil && v.catalog.CanSubscribe(r.Name) {
		return true
	}
	g.reportRefused(v, r)
	return false
}

// ReportRefused implements gateway.Backend. It records a request for something that is not offered. The request had no effect, so the
// client gets the same response even if the record is lost.
func (b *Backend) ReportRefused(r call.Request) {
	g := b.dispatcher.acquire()
	defer g.release()
	g.reportRefused(g.view(b.key), r)
}

// newView returns the view of the Catalog c. Its plugins take over those runners that fit, and add the others.
func (g *generation) newView(c *catalog.Catalog, have runners) *view {
	v := &view{generation: g, catalog: c}
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
