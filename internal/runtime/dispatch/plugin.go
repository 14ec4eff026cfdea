package dispatch

import (
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
)

// plugin is one plugin in a view.
type plugin struct {
	*catalog.Plugin
	lane       *lane
	runner     *runner
	dispatcher *Dispatcher
	view       *view
}

// runner manages the worker of one version of a plugin with one grant. Generations and views that have the same version and grant share
// its runner.
type runner struct {
	plugin  atomic.Pointer[plugin]    // a plugin in the latest generation that has this runner
	worker  func() *worker.Supervisor // returns the worker, which the first call creates
	scripts *principalWorkers         // the workers in place of worker, if principals share none; nil if they do
	network func() (*network, error)
	started atomic.Bool // whether the function worker has been called

	compiling atomic.Int32 // number of worker starts that are looking up or compiling the module
	verified  atomic.Bool  // whether the module's file had the digest of the manifest when a worker was started
}

// newRunner returns the runner for a new version of a plugin.
func newRunner(p *plugin) *runner {
	r := &runner{}
	r.plugin.Store(p)
	if p.Problem == "" {
		r.worker, r.network = sync.OnceValue(p.newWorker), sync.OnceValues(p.openNetwork)
		if p.IsHost() {
			r.scripts = &principalWorkers{start: p.newWorker}
		}
	}
	return r
}

// workerOf returns the worker for a call. done must be called after the call.
func (r *runner) workerOf(q *call.Request) (_ *worker.Supervisor, done func()) {
	if r.scripts != nil {
		return r.scripts.use(q.Principal.ID)
	}
	return r.worker(), func() {}
}

// retire ends the worker processes after their last call has ended.
func (r *runner) retire() {
	const why = "the plugin's configuration has changed"
	switch {
	case !r.started.Load():
	case r.scripts != nil:
		r.scripts.retire(why)
	default:
		r.worker().Retire(why)
	}
}

// close ends the worker processes, even if calls are in flight.
func (r *runner) close() {
	if !r.started.Load() {
		return
	}
	if r.scripts != nil {
		r.scripts.close()
	} else {
		r.worker().Close()
	}
	if n, err := r.network(); err == nil {
		n.close()
	}
}
