package dispatch

import (
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
)

// principalWorkers are the workers of a plugin whose principals share none: the runner of scripts, whose module executes what a principal
// sends it.
type principalWorkers struct {
	start func() *worker.Supervisor

	mu     sync.Mutex
	all    map[string]*principalWorker
	swept  time.Time
	closed bool
}

type principalWorker struct {
	*worker.Supervisor
	calls int
	used  time.Time
}

// principalIdle is the time after which the worker of a principal without calls is closed.
const principalIdle = 5 * time.Minute

// use returns the worker of a principal. The caller must call done after its call.
func (w *principalWorkers) use(principal string) (_ *worker.Supervisor, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sweep()
	p := w.all[principal]
	if p == nil {
		p = &principalWorker{Supervisor: w.start()}
		if w.closed {
			p.Close() // its calls fail
		}
		if w.all == nil {
			w.all = map[string]*principalWorker{}
		}
		w.all[principal] = p
	}
	p.calls++
	return p.Supervisor, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.calls--
		p.used = time.Now()
	}
}

// sweep closes the workers of principals that have not called for a while.
func (w *principalWorkers) sweep() {
	now := time.Now()
	if now.Sub(w.swept) < principalIdle {
		return
	}
	w.swept = now
	for id, p := range w.all {
		if p.calls == 0 && now.Sub(p.used) >= principalIdle {
			p.Close()
			delete(w.all, id)
		}
	}
}

// retire ends the processes after their last call has ended.
func (w *principalWorkers) retire(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.all {
		p.Retire(why)
	}
}

// close ends all processes, even if calls are in flight.
func (w *principalWorkers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, p := range w.all {
		p.Close()
	}
}
