package engine

import (
	"context"
	"sync"
)

// pool holds the instances of a loaded module that wait for a call. There are at most as many as have a
// slot: one for each call that may run, and as many again, which are put back meanwhile.
type pool struct {
	clean chan *instance
	slots chan struct{}
	work  sync.WaitGroup // instances that are being put back
}

func newPool(concurrency int) *pool {
	return &pool{clean: make(chan *instance, 2*concurrency), slots: make(chan struct{}, 2*concurrency)}
}

// take gives an instance that waits, or one that fresh makes; nil if ctx ends first.
func (p *pool) take(ctx context.Context, fresh func() (*instance, *Error)) (*instance, *Error) {
	select {
	case inst := <-p.clean:
		return inst, nil
	default:
	}
	select {
	case inst := <-p.clean:
		return inst, nil
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil
	}
	inst, failure := fresh()
	if failure != nil {
		<-p.slots
	}
	return inst, failure
}

// put takes an instance that is ready for another call.
func (p *pool) put(inst *instance) { p.clean <- inst }

// putBack readies an instance off the path of the call that used it; one that cannot be is discarded.
func (p *pool) putBack(inst *instance, ready func(*instance) bool) {
	p.work.Go(func() {
		if ready(inst) {
			p.put(inst)
		} else {
			p.discard(inst)
		}
	})
}

// discard closes an instance.
func (p *pool) discard(inst *instance) {
	inst.close()
	<-p.slots
}

// drain closes the instances that wait.
func (p *pool) drain() {
	for {
		select {
		case inst := <-p.clean:
			p.discard(inst)
		default:
			return
		}
	}
}
