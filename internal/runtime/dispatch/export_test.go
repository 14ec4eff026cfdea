package dispatch

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// Failed formats an error of the engine.
func Failed(c gateway.Queued, err error) error { return c.(*pinned).Queued.(*queued).failed(err) }

// Started returns the names of the plugins that have a worker.
func Started(d *Dispatcher) []string {
	var names []string
	for _, p := range d.current.Load().first.plugins {
		if p.runner.started.Load() {
			names = append(names, p.Name)
		}
	}
	return names
}

// Environment returns the variables that the host passes to the plugin at an index, beside those that each plugin gets.
func Environment(d *Dispatcher, index int) (map[string]string, error) {
	return d.current.Load().first.plugins[index].environment(context.Background())
}

// FreeSkillReads returns how many more requests may read skills now.
func FreeSkillReads(d *Dispatcher) int {
	d.skillReads.mu.Lock()
	defer d.skillReads.mu.Unlock()
	return d.skillReads.free
}
