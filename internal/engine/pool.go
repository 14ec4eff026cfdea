package engine

import "sync"

// pool holds the idle instances of a module, at most as many as calls were in progress at once.
type pool struct {
	mu    sync.Mutex
	ready []*instance // a stack: the memory of the last one is most likely in the processor's caches
}

// take returns an idle instance; nil if there is none.
func (p *pool) take() *instance {
	p.mu.Lock()
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
