package worker

import (
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
)

// Pool bounds the memory of the workers of all plugins by one budget. It demotes workers that use much processor time while other
// plugins have calls. It is safe for concurrent use.
type Pool struct {
	memory *budget.Budget

	mu       sync.Mutex
	workers  map[*process]*Supervisor
	running  int  // number of running calls
	sampling bool // whether the sampling that keepFair started is running
}

// NewPool returns an empty pool. bytes is the size of the memory budget.
func NewPool(bytes int64) *Pool {
	return &Pool{memory: budget.New(bytes), workers: map[*process]*Supervisor{}}
}

// Budget returns the memory budget of all workers, in bytes.
func (b *Pool) Budget() int64 { return b.memory.Total() }

// SetBudget changes the budget. Workers keep the memory that they have.
func (b *Pool) SetBudget(bytes int64) { b.memory.SetTotal(bytes) }

// add registers a worker until it ends.
func (b *Pool) add(s *Supervisor, p *process) {
	b.mu.Lock()
	b.workers[p] = s
	b.keepFair()
	b.mu.Unlock()
	go func() {
		<-p.gone
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.workers, p)
	}()
}

// begin registers a call of a plugin. end must be called after it.
func (b *Pool) begin(s *Supervisor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running++
	s.calls++
	b.keepFair()
}

func (b *Pool) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
}
