package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// Pool bounds the memory of the workers of all plugins by one budget. It demotes workers that use much processor time while other
// plugins have calls. It is safe for concurrent use.
type Pool struct {
	mu       sync.Mutex
	budget   int64
	workers  map[*process]*Supervisor
	running  int           // number of running calls
	reserved int64         // bytes that running calls have reserved
	changed  chan struct{} // closed when a call or a worker ends
	waiting  int           // number of calls that wait for memory
	sampling bool          // whether the sampling that keepFair started is running
}

// baseMemory is the resident memory of a worker without a module, in bytes, measured with Go 1.26.
const baseMemory = 16 << 20

// NewPool returns an empty pool. budget is in bytes.
func NewPool(budget int64) *Pool {
	return &Pool{budget: budget, workers: map[*process]*Supervisor{}, changed: make(chan struct{})}
}

// Budget returns the memory budget of all workers, in bytes.
func (b *Pool) Budget() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.budget
}

// SetBudget changes the budget. Running calls retain the memory that they have reserved.
func (b *Pool) SetBudget(budget int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget = budget
	b.notify()
}

// add counts a worker against the budget until it ends.
func (b *Pool) add(s *Supervisor, p *process) {
	b.mu.Lock()
	b.workers[p] = s
	s.processes++
	b.keepFair()
	b.mu.Unlock()
	go func() {
		<-p.gone
		b.mu.Lock()
		defer b.mu.Unlock()
		b.remove(p)
		b.notify()
	}()
}

func (b *Pool) remove(p *process) {
	if s := b.workers[p]; s != nil {
		s.processes--
		delete(b.workers, p)
	}
}

// notify wakes the calls that wait for memory.
func (b *Pool) notify() {
	if b.waiting == 0 {
		return
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// reserve reserves memory for a call of a plugin. If the budget is exhausted, it evicts idle workers, least recently
// used first, and then waits for calls to end. release returns the memory.
func (b *Pool) reserve(ctx context.Context, s *Supervisor, patience time.Duration) (release func(), err error) {
	need := s.config.Limits.Memory + s.config.Limits.Output
	var timeout <-chan time.Time
	for {
		b.mu.Lock()
		// If no other call runs, the call is admitted even if it exceeds the budget: no other call could free memory.
		more := need
		if s.processes == 0 {
			more += baseMemory
		}
		if b.used()+more <= b.budget || b.makeRoom(s, more) || b.running == 0 {
			b.running++
			b.reserved += need
			s.calls++
			b.keepFair()
			b.mu.Unlock()
			return func() { b.release(need) }, nil
		}
		changed := b.changed
		b.waiting++
		b.mu.Unlock()
		if timeout == nil {
			timer := time.NewTimer(patience)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-changed:
		case <-timeout:
			err = s.fail(engine.CodeQueue, nil, "waited for %s, but other calls used the server's memory: raise memory in [server]", patience)
		case <-ctx.Done():
			err = ctx.Err()
		}
		b.mu.Lock()
		b.waiting--
		b.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

func (b *Pool) release(need int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.reserved -= need
	b.notify()
}

// used returns the memory that is reserved or resident, in bytes.
func (b *Pool) used() int64 {
	total := b.reserved
	for p := range b.workers {
		total += max(p.resident.Load(), baseMemory)
	}
	return total
}

// makeRoom evicts idle workers of other plugins until need bytes fit, and reports whether they do.
func (b *Pool) makeRoom(s *Supervisor, need int64) bool {
	var idle []*process
	for p := range b.workers {
		p.measure()
		if b.workers[p] != s {
			idle = append(idle, p)
		}
	}
	slices.SortFunc(idle, func(x, y *process) int { return int(x.idleSince.Load() - y.idleSince.Load()) })
	for _, p := range idle {
		if b.used()+need <= b.budget {
			return true
		}
		if b.workers[p].evict(p) {
			b.remove(p)
		}
	}
	return b.used()+need <= b.budget
}
