package dispatch

import (
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/network"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
)

// plugin is a plugin of a snapshot.
type plugin struct {
	*catalog.Plugin
	*lane
	*runner
	dispatcher *Dispatcher
	snapshot   *snapshot
}

// lane orders and bounds the calls of a plugin. All versions of the plugin share it, so that a call that writes runs alone
// even if calls of the version before are in flight.
type lane struct {
	queue queue
	slots slots
}

// configure applies the settings of a version of the plugin. Calls that are queued already keep their order.
func (l *lane) configure(p *catalog.Plugin) {
	if p.Problem != "" {
		return
	}
	l.slots.resize(max(p.Grant.Limits.Concurrency, 1))
	l.queue.configure(p.Manifest.Reads == manifest.ReadsConcurrent)
}

// runner is the worker of a version of a plugin once it was called. Snapshots in which the version is the same share it.
type runner struct {
	plugin  atomic.Pointer[plugin]    // of the latest snapshot with this runner
	worker  func() *worker.Supervisor // created by the first call
	network func() (*network.Network, error)
	started atomic.Bool // whether worker has been called

	compiling atomic.Int32 // number of worker starts that are looking up or compiling the module
	verified  atomic.Bool  // the module's file had the digest of the manifest when a worker was started
}

// newRunner returns the runner of a new version of a plugin.
func newRunner(p *plugin) *runner {
	r := &runner{}
	r.plugin.Store(p)
	if p.Problem == "" {
		r.worker, r.network = sync.OnceValue(p.newWorker), sync.OnceValues(p.newNetwork)
	}
	return r
}

// retire ends the worker processes when their last call has ended.
func (r *runner) retire() {
	if r.started.Load() {
		r.worker().Retire("the plugin's configuration has changed")
	}
}

// close ends the worker processes, even if they have calls in flight.
func (r *runner) close() {
	if !r.started.Load() {
		return
	}
	r.worker().Close()
	if n, err := r.network(); err == nil {
		n.Close()
	}
}
