package worker

import (
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
)

// Pool bounds the memory of the workers of all plugins by one budget. It demotes workers that use much processor time while other
// plugins have calls. It is safe for concurrent use.
type Pool struct {
	memory        *budget.Budget
	processorTime func(*process) (time.Duration, error) // tests replace it

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

// add registers a worker until it ends.
func (p *Pool) add(s *Supervisor, worker *process) {
	p.mu.Lock()
	p.workers[worker] = s
	p.keepFair()
	p.mu.Unlock()
	go func() {
		<-worker.gone
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.workers, worker)
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
