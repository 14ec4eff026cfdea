package engine

import (
	"context"
	"sync"
)

// pool holds the instances of a loaded module that wait for a call. There is one for each call that runs at
// the same time, and a spare one, which is put back meanwhile: to wait for that is far cheaper than to make
// another.
type pool struct {
	mu       sync.Mutex
	clean    []*instance   // ready for a call; the last one is used first, as its memory is in the caches
	cleaning int           // that are being put back
	wake     chan struct{} // closed when something changes for those that wait
	work     sync.WaitGroup
}

// spare is how many instances there are beyond those of the calls that run.
const spare = 1

func newPool() *pool { return &pool{wake: make(chan struct{})} }

// take gives an instance that waits, or one that fresh makes; nil if ctx ends first. busy is called before anything
// that takes long.
func (p *pool) take(ctx context.Context, busy func(), fresh func() (*instance, *Error)) (*instance, *Error) {
	p.mu.Lock()
	for len(p.clean) == 0 && p.cleaning > spare {
		wake := p.wake
		p.mu.Unlock()
		busy()
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, nil
		}
		p.mu.Lock()
	}
	if last := len(p.clean) - 1; last >= 0 {
		inst := p.clean[last]
		p.clean = p.clean[:last]
		p.mu.Unlock()
		return inst, nil
	}
	p.mu.Unlock()
	busy()
	return fresh()
}

// change does something to the pool, and wakes who waits for it.
func (p *pool) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	close(p.wake)
	p.wake = make(chan struct{})
}

// put takes an instance that is ready for a call.
func (p *pool) put(inst *instance) { p.change(func() { p.clean = append(p.clean, inst) }) }

// putBack readies a call's instance off the path of the call; one that cannot be is closed.
func (p *pool) putBack(inst *instance, ready func(*instance) bool) {
	p.mu.Lock()
	p.cleaning++
	p.mu.Unlock()
	p.work.Go(func() {
		ok := ready(inst)
		if !ok {
			inst.close()
		}
		p.change(func() {
			if p.cleaning--; ok {
				p.clean = append(p.clean, inst)
			}
		})
	})
}

// drain closes the instances that wait. No call may run.
func (p *pool) drain() {
	p.work.Wait()
	p.mu.Lock()
	waiting := p.clean
	p.clean = nil
	p.mu.Unlock()
	for _, inst := range waiting {
		inst.close()
	}
}
