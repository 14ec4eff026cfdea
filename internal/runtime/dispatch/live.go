package dispatch

import (
	"cmp"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// AddState adds the config and the project in force, workers, queues and memory to a Snapshot.
func (d *Dispatcher) AddState(s *live.Snapshot) {
	g := d.acquire()
	defer g.release()
	s.Config, s.ProjectDir = g.catalog().Config, g.catalog().Places.Project
	now := d.pool.Stats()
	s.Memory = live.Memory{Budget: now.Budget, Credit: now.Credit, Waiting: now.WaitingRequests}
	for plugin, n := range now.Workers {
		s.Workers = append(s.Workers, live.Worker{Plugin: plugin, Count: n})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, l := range g.lanes {
		waiting, running, slots := l.queue.length()
		i := slices.IndexFunc(s.Workers, func(w live.Worker) bool { return w.Plugin == key.plugin })
		if i < 0 {
			i, s.Workers = len(s.Workers), append(s.Workers, live.Worker{Plugin: key.plugin})
		}
		w := &s.Workers[i]
		w.Waiting, w.Running, w.Slots = w.Waiting+waiting, w.Running+running, w.Slots+slots
	}
	slices.SortFunc(s.Workers, func(a, b live.Worker) int { return cmp.Compare(a.Plugin, b.Plugin) })
}
