package engine

import (
	"context"
	"sync"
)

// pool holds the idle instances of a module: one for each concurrent call, and a spare one, which is restored while the
// others run. Waiting for a restore is far cheaper than creating an instance.
type pool struct {
	mu        sync.Mutex
	ready     []*instance   // a stack: the memory of the last one is most likely in the processor's caches
	restoring int           // instances that are being restored
	changed   chan struct{} // closed and replaced whenever the fields above change
	work      sync.WaitGroup
}

// spare is the number of instances beyond those of the calls in progress.
const spare = 1

func newPool() *pool { return &pool{changed: make(chan struct{})} }

// take returns an idle instance or one from newInstance, or nil if ctx ends first. It calls busy before it waits or
// creates an instance.
func (p *pool) take(ctx context.Context, busy func(), newInstance func() (*instance, *Error)) (*instance, *Error) {
	p.mu.Lock()
	for len(p.ready) == 0 && p.restoring > spare {
		changed := p.changed
		p.mu.Unlock()
		busy()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil
		}
		p.mu.Lock()
	}
	if last := len(p.ready) - 1; last >= 0 {
		inst := p.ready[last]
		p.ready = p.ready[:last]
		p.mu.Unlock()
		return inst, nil
	}
	p.mu.Unlock()
	busy()
	return newInstance()
}

// update runs f under the lock and wakes all waiting take calls.
func (p *pool) update(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// add adds an instance that is ready for a call.
func (p *pool) add(inst *instance) { p.update(func() { p.ready = append(p.ready, inst) }) }

// addRestored restores an instance in the background and adds it. If restore fails, the instance is closed.
func (p *pool) addRestored(inst *instance, restore func(*instance) bool) {
	p.mu.Lock()
	p.restoring++
	p.mu.Unlock()
	p.work.Go(func() {
		ok := restore(inst)
		if !ok {
			inst.close()
		}
		p.update(func() {
			if p.restoring--; ok {
				p.ready = append(p.ready, inst)
			}
		})
	})
}

// drain closes all instances. No call may be in progress.
func (p *pool) drain() {
	p.work.Wait()
	p.mu.Lock()
	idle := p.ready
	p.ready = nil
	p.mu.Unlock()
	for _, inst := range idle {
		inst.close()
	}
}
