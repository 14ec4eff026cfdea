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

// snapshot is the state that is served at one time: the plugins of one Catalog. It is immutable. A request is executed with the snapshot
// that was current when the request was found, even if that snapshot is replaced before the request ends. A replaced snapshot is
// closed after its last request: its workers and its audit log are closed, unless a later snapshot shares them.
type snapshot struct {
	dispatcher *Dispatcher
	catalog    *catalog.Catalog
	plugins    []*plugin  // the plugins, each at its index in catalog.Plugins
	audit      *audit.Log // audit log of the snapshot; nil if none is kept

	uses   atomic.Int64 // number of requests in flight, plus one while the snapshot is current
	closed sync.Once
}

// newSnapshot returns the snapshot of the Catalog c, which is to replace the snapshot old. old may be nil. The new snapshot takes over
// the runners of plugins that have not changed. newSnapshot does not modify old.
func newSnapshot(d *Dispatcher, c *catalog.Catalog, old *snapshot) *snapshot {
	s := &snapshot{dispatcher: d, catalog: c}
	s.uses.Store(1)
	for _, offered := range c.Plugins {
		p := &plugin{Plugin: offered, dispatcher: d, snapshot: s}
		if before := old.predecessor(p); before != nil {
			p.runner = before.runner
		} else {
			p.runner = newRunner(p)
		}
		p.lane = d.laneOf(p.Name)
		s.plugins = append(s.plugins, p)
	}
	return s
}

// predecessor returns the plugin of s whose runner p can take over; nil if there is none.
func (s *snapshot) predecessor(p *plugin) *plugin {
	if s == nil || s.catalog.Places != p.snapshot.catalog.Places {
		return nil
	}
	i := slices.IndexFunc(s.plugins, func(before *plugin) bool { return p.Equal(before.Plugin) })
	if i < 0 || grant.Reaches(p.Grant, difference(s.catalog.HostFiles, p.snapshot.catalog.HostFiles)) {
		return nil // the grant reaches host files that have changed, and a running worker hides only those that existed at its start
	}
	return s.plugins[i]
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

// acquire returns the current snapshot and adds a use. The caller must call release.
func (d *Dispatcher) acquire() *snapshot {
	for {
		s := d.current.Load()
		s.uses.Add(1)
		if d.current.Load() == s {
			return s
		}
		s.release() // the snapshot was replaced after it was loaded, and may be closed
	}
}

// release ends a use of the snapshot, and closes it after the last use.
func (s *snapshot) release() {
	if s.uses.Add(-1) == 0 {
		s.closed.Do(s.close)
	}
}

// close closes the workers and the audit log, unless another snapshot shares them.
func (s *snapshot) close() {
	d := s.dispatcher
	d.mu.Lock()
	d.live = slices.DeleteFunc(d.live, func(other *snapshot) bool { return other == s })
	d.mu.Unlock()
	runners, logs := d.open()
	for _, p := range s.plugins {
		if _, shared := runners[p.runner]; !shared {
			p.close()
		}
	}
	if !logs[s.audit] && s.audit != nil {
		d.background.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), auditTime)
			defer cancel()
			if err := s.audit.Close(ctx); err != nil {
				d.log.Error("the replaced audit log cannot be closed", "error", err)
			}
		})
	}
}

// auditTime bounds the time for writing the last records of a replaced audit log.
const auditTime = 10 * time.Second

// open returns the runners of all snapshots that are not closed, with the names of the runners' plugins, and the audit logs of these
// snapshots.
func (d *Dispatcher) open() (map[*runner]string, map[*audit.Log]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	runners, logs := map[*runner]string{}, map[*audit.Log]bool{}
	for _, s := range d.live {
		for _, p := range s.plugins {
			runners[p.runner] = p.Name
		}
		if s.audit != nil {
			logs[s.audit] = true
		}
	}
	return runners, logs
}

// pinned is a request that keeps its snapshot open until its call has ended.
type pinned struct {
	gateway.Queued
	snapshot *snapshot
}

// Execute implements gateway.Queued.
func (p *pinned) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	defer p.snapshot.release()
	return p.Queued.Execute(ctx, n)
}

// ResponseWritten implements gateway.ResponseWritten.
func (p *pinned) ResponseWritten() {
	if held, ok := p.Queued.(gateway.ResponseWritten); ok {
		held.ResponseWritten()
	}
}
