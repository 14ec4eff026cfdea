package dispatch

import (
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/network"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
)

// plugin is a plugin with the calls in flight, and its worker once it was called.
type plugin struct {
	*catalog.Plugin
	dispatcher *Dispatcher
	queue      queue
	slots      slots

	worker  func() *worker.Supervisor // created by the first call
	network func() (*network.Network, error)
	started atomic.Bool // whether worker has been called

	compiling atomic.Int32 // number of worker starts that are looking up or compiling the module
}

func newPlugin(d *Dispatcher, offered *catalog.Plugin) *plugin {
	p := &plugin{Plugin: offered, dispatcher: d}
	if p.Problem == "" {
		p.slots.free = max(p.Grant.Limits.Concurrency, 1)
		p.queue.concurrentReads = p.Manifest.Reads == manifest.ReadsConcurrent
		p.worker, p.network = sync.OnceValue(p.newWorker), sync.OnceValues(p.newNetwork)
	}
	return p
}

// close ends the plugin's worker processes, even if they have calls in flight.
func (p *plugin) close() {
	if !p.started.Load() {
		return
	}
	p.worker().Close()
	if n, err := p.network(); err == nil {
		n.Close()
	}
}
