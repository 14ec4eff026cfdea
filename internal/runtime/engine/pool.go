package engine

import (
	"context"
	"sync"
)

// pool stores the idle instances of a module: at most one for each concurrent call, and spare more.
type pool struct {
	mu      sync.Mutex
	ready   []*instance   // a stack: the memory of the last one is most likely in the processor's caches
	ending  int           // number of instances that the method end is restoring
	changed chan struct{} // if not nil, closed when the field ending decreases
}

// spare bounds the number of instances beyond one for each concurrent call. A caller may start its next call while the
// instance of its previous call is still being restored. Without this bound, the instances could use more memory than
// the concurrent calls may.
const spare = 1

// take returns an idle instance; nil if there is none, or if ctx ended first. It calls busy before it waits for an
// instance that is being restored.
func (p *pool) take(ctx context.Context, busy func()) *instance {
	p.mu.Lock()
	for len(p.ready) == 0 && p.ending > spare {
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		busy()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	last := len(p.ready) - 1
	if last < 0 {
		return nil
	}
	inst := p.ready[last]
	p.ready = p.ready[:last]
	return inst
}

// add adds an instance that is ready for a call.
func (p *pool) add(inst *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = append(p.ready, inst)
}

// end adds an instance if restore succeeds, and closes it otherwise.
func (p *pool) end(inst *instance, restore func(*instance) bool) {
	p.mu.Lock()
	p.ending++
	p.mu.Unlock()
	ok := restore(inst)
	if !ok {
		inst.close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending--; ok {
		p.ready = append(p.ready, inst)
	}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// drain closes all instances. No call may be in progress.
func (p *pool) drain() {
	p.mu.Lock()
	idle := p.ready
	p.ready = nil
	p.mu.Unlock()
	for _, inst := range idle {
		inst.close()
	}
}
