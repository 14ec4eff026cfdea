package gateway

import (
	"context"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// inflight holds the calls that run. Calls are found by their id's bytes, so that 1 and "1" differ and
// digits are not rounded.
type inflight struct {
	max      int
	maxBytes int64

	mu      sync.Mutex
	free    sync.Cond         // there is a place, or no call starts any more
	owed    map[string]*entry // calls that are to be answered
	running int               // calls that have not ended, those cancelled included
	bytes   int64             // of their requests
	closed  bool
	ended   sync.WaitGroup
}

// entry is one call.
type entry struct {
	id     string
	size   int64 // bytes of its request
	to     answers
	cancel context.CancelFunc
}

// pendingLines is how many of the longest lines the requests of the calls in flight may be together. One
// alone always may.
const pendingLines = 2

func newInflight(max int, maxBytes int64) *inflight {
	f := &inflight{max: max, maxBytes: maxBytes, owed: make(map[string]*entry)}
	f.free.L = &f.mu
	return f
}

// add takes a call in before it starts, so that a cancellation right behind it finds it. It waits where as
// many run as may, in number or in the bytes of their requests: nothing is read meanwhile, which a client that
// sends without end notices, and no call is lost. Without an error the caller must call done in the end.
func (f *inflight) add(m message, to answers, cancel context.CancelFunc) (*entry, *abi.Error) {
	size := int64(m.size)
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.running > 0 && (f.running >= f.max || f.bytes+size > f.maxBytes) && !f.closed {
		f.free.Wait()
	}
	switch {
	case f.closed:
		return nil, shuttingDown()
	case f.owed[string(m.id)] != nil:
		return nil, callRuns()
	}
	e := &entry{id: string(m.id), size: size, to: to, cancel: cancel}
	f.owed[e.id] = e
	f.running++
	f.bytes += size
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
	f.bytes -= e.size
	f.free.Signal()
	f.mu.Unlock()
	f.ended.Done()
}

// close lets no more calls in.
func (f *inflight) close() {
	f.mu.Lock()
	f.closed = true
	f.free.Broadcast()
	f.mu.Unlock()
}

// abandon answers all calls that have not ended with an error; what they answer themselves is dropped.
func (f *inflight) abandon() {
	f.mu.Lock()
	owed := f.owed
	f.owed = map[string]*entry{}
	f.mu.Unlock()
	for _, e := range owed {
		putError(e.to, []byte(e.id), shuttingDown())
	}
}
