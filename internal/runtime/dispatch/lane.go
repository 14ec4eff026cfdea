package dispatch

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// lane orders and bounds the calls of a plugin in one project. All versions of the plugin and all views of the project share one lane, so
// that a call that writes runs alone, even if calls of an earlier version or of other clients are in flight.
type lane struct{ queue queue }

// configure applies the settings of a plugin. Calls that are already queued keep their order.
func (l *lane) configure(concurrency int, reads string) {
	l.queue.resize(max(concurrency, 1))
	l.queue.configure(reads == manifest.ReadsConcurrent)
}

// configureLanes applies the settings of the generation's plugins. Clients whose table bounds the concurrency of a plugin have a worker of
// their own, which keeps the bound, so the lane has the slots of the view with most.
func (g *generation) configureLanes() {
	most := map[*lane]*plugin{}
	for p := range g.plugins() {
		if before := most[p.lane]; p.Problem == "" && (before == nil || before.Grant.Limits.Concurrency < p.Grant.Limits.Concurrency) {
			most[p.lane] = p
		}
	}
	for l, p := range most {
		l.configure(g.slots(p), p.Manifest.Reads)
	}
}

// Memory of a worker beyond what its module may use, in bytes: of one that runs scripts, and of any other.
const (
	scriptWorker = 48 << 20
	otherWorker  = 96 << 20
)

// slots returns how many calls of a plugin run at the same time. Scripts keep their memory while they wait for their calls, so that at most as
// many run as leave room for the largest of these.
func (g *generation) slots(p *plugin) int {
	limits := p.Grant.Limits
	if !p.IsHost() {
		return limits.Concurrency
	}
	var largest int64
	for other := range g.plugins() {
		if other.Problem == "" && !other.IsHost() {
			largest = max(largest, other.Grant.Limits.Memory)
		}
	}
	room := (g.catalog().Memory() - largest - otherWorker) / (limits.Memory + scriptWorker)
	return int(max(1, min(int64(limits.Concurrency), room)))
}

// laneKey identifies the lane of a plugin. Scripts of all projects have one lane, which bounds their memory. The area is that of the project, as discovery.Found has it; it is empty for all projects if the
// plugin may write outside of its project, since calls in two projects could then write the same files.
type laneKey struct{ plugin, area string }

// lane returns the lane of a plugin in the view of the Catalog c. Calls of earlier generations may occupy it.
func (g *generation) lane(c *catalog.Catalog, plugin string) *lane {
	k := laneKey{plugin, c.Area}
	if g.wide[plugin] {
		k.area = ""
	}
	d := g.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, other := range slices.Backward(append(slices.Clone(d.live), g)) {
		if l := other.lanes[k]; l != nil {
			g.lanes[k] = l
			return l
		}
	}
	l := &lane{}
	g.lanes[k] = l
	return l
}

// widePlugins returns the names of the plugins that have one lane for all projects: those that may write outside of the project and of their
// state directory, and the runner of scripts.
func widePlugins(all []*catalog.Catalog) map[string]bool {
	wide := map[string]bool{}
	for _, c := range all {
		for _, p := range c.Plugins {
			if p.Problem == "" && (p.IsHost() || writesOutside(p.Grant, c.Places)) {
				wide[p.Name] = true
			}
		}
	}
	return wide
}

// writesOutside reports whether a grant allows to write files that are neither in the project nor in the state directory.
func writesOutside(g config.Grant, places config.Places) bool {
	inside := func(path string) bool { return places.Project != "" && contain.Within(places.Project, path) }
	return slices.ContainsFunc(g.Written(), func(path string) bool { return !inside(path) })
}
