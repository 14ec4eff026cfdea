package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
)

// Pool bounds the memory of the workers of all plugins by one budget. It demotes workers that use much processor time while other
// plugins have calls. It is safe for concurrent use.
type Pool struct {
	memory        *budget.Budget
	processorTime func(*process) (time.Duration, error) // tests replace it
	observer      atomic.Pointer[Observer]

	mu       sync.Mutex
	workers  map[*process]*Supervisor
	running  int  // number of running calls
	sampling bool // whether the sampling that keepFair started is running
}

// NewPool returns an empty pool. bytes is the size of the memory budget.
func NewPool(bytes int64) *Pool {
	return &Pool{memory: budget.New(bytes), processorTime: (*process).processorTime, workers: map[*process]*Supervisor{}}
}

// Budget returns the memory budget of all workers, in bytes.
func (p *Pool) Budget() int64 { return p.memory.Total() }

// SetBudget changes the budget. Workers keep the memory that they have.
func (p *Pool) SetBudget(bytes int64) { p.memory.SetTotal(bytes) }

// Observer is told of the starts and ends of worker processes. Its methods must not block.
type Observer interface {
	// WorkerStarted is called when a worker has started, or has failed to, after so long. It is not called if no call waits for the worker any more, and if it
	// had no memory or its grant has changed.
	WorkerStarted(plugin string, took time.Duration, err error)
	// WorkerEnded is called when a worker has ended. reason is one of the values of type End.
	WorkerEnded(plugin, reason string)
}

// Observe has o told of further workers; nil ends that.
func (p *Pool) Observe(o Observer) {
	if o == nil {
		p.observer.Store(nil)
		return
	}
	p.observer.Store(&o)
}

// observing returns the Observer; nil if there is none.
func (p *Pool) observing() Observer {
	if o := p.observer.Load(); o != nil {
		return *o
	}
	return nil
}

// Stats is what a Pool uses at a time.
type Stats struct {
	Workers         map[string]int // by plugin
	Budget, Credit  int64          // bytes
	WaitingRequests int            // requests for memory
}

// Stats returns what the Pool uses now.
func (p *Pool) Stats() Stats {
	s := Stats{Workers: map[string]int{}, Budget: p.memory.Total(), Credit: p.memory.Credit(), WaitingRequests: p.memory.Waiting()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.workers {
		s.Workers[of.config.Plugin]++
	}
	return s
}

// add registers a worker until it ends.
func (p *Pool) add(s *Supervisor, worker *process) {
	p.mu.Lock()
	p.workers[worker] = s
	p.keepFair()
	p.mu.Unlock()
	go func() {
		<-worker.gone
		p.mu.Lock()
		delete(p.workers, worker)
		p.mu.Unlock()
		if o := p.observing(); o != nil {
			o.WorkerEnded(s.config.Plugin, string(worker.ended()))
		}
	}()
}

// begin registers a call of a plugin. end must be called after it.
func (p *Pool) begin(s *Supervisor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
	s.calls++
	p.keepFair()
}

func (p *Pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}
