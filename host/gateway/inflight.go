package gateway

import (
	"context"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// inflight holds the calls that run. Calls are found by their id's bytes, so that 1 and "1" differ and
// digits are not rounded.
type inflight struct {
	max int

	mu      sync.Mutex
	free    sync.Cond         // there is a place, or no call starts any more
	owed    map[string]*entry // calls that are to be answered
	running int               // calls that have not ended, those cancelled included
	closed  bool
	ended   sync.WaitGroup
}

// entry is one call.
type entry struct {
	id     string
	cancel context.CancelFunc
}

func newInflight(max int) *inflight {
	f := &inflight{max: max, owed: make(map[string]*entry)}
	f.free.L = &f.mu
	return f
}

// add takes a call in before it starts, so that a cancellation right behind it finds it. It waits where as
// many run as may: nothing is read meanwhile, which a client that sends without end notices, and no call is
// lost. The caller must call done in the end. Nil without an error means that no call starts any more.
func (f *inflight) add(id []byte, cancel context.CancelFunc) (*entry, *abi.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.running >= f.max && !f.closed {
		f.free.Wait()
	}
	switch {
	case f.closed:
		return nil, nil
	case f.owed[string(id)] != nil:
		return nil, callRuns()
	}
	e := &entry{id: string(id), cancel: cancel}
	f.owed[e.id] = e
	f.running++
	f.ended.Add(1)
	return e, nil
}

// runs tells whether a call with that id is to be answered.
func (f *inflight) runs(id []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owed[string(id)] != nil
}

// callRuns refuses a request that has the id of a running call: two answers with one id could not be told
// apart, and a cancellation would be of both.
func callRuns() *abi.Error { return invalidRequest("a call with this id is still running") }

// take says whether a call's answer is to be sent, which is once and not after a cancellation.
func (f *inflight) take(e *entry) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owed[e.id] != e {
		return false
	}
	delete(f.owed, e.id)
	return true
}

// cancel stops the call with that id, if there is one; it will not be answered.
func (f *inflight) cancel(id []byte) {
	f.mu.Lock()
	e := f.owed[string(id)]
	delete(f.owed, string(id))
	f.mu.Unlock()
	if e != nil {
		e.cancel()
	}
}

// done ends a call; its answer, if any, has been sent.
func (f *inflight) done(e *entry) {
	e.cancel()
	f.mu.Lock()
	f.running--
	f.free.Signal()
	f.mu.Unlock()
	f.ended.Done()
}

// close lets no more calls in; the channel is closed when all have ended.
func (f *inflight) close() <-chan struct{} {
	f.mu.Lock()
	f.closed = true
	f.free.Broadcast()
	f.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		f.ended.Wait()
		close(ended)
	}()
	return ended
}
