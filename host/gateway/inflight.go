package gateway

import (
	"context"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// inflight tracks a session's calls from their start until their response is written. It is keyed by the raw
// bytes of the id: 1 and "1" are different ids, and large numbers must not be rounded.
type inflight struct {
	max      int
	maxBytes int64

	mu      sync.Mutex
	free    sync.Cond         // signalled when a call has ended, and on close
	owed    map[string]*entry // calls whose response is still to be sent
	running int               // calls that have not ended, cancelled ones included
	lists   int               // those of them whose result is a page of a list
	bytes   int64             // total size of their requests
	closed  bool
	ended   sync.WaitGroup
}

// entry is one call in flight.
type entry struct {
	id     string
	size   int64 // bytes of its request
	list   bool
	to     answers
	cancel context.CancelFunc
}

const (
	// pendingLines bounds the total size of the requests in flight, in multiples of MaxLine. A single request
	// is always admitted.
	pendingLines = 2
	// maxLists bounds the list requests in flight. A page of a list takes up to MaxPage bytes until it is
	// written, and no plugin accounts for it.
	maxLists = 8
)

func newInflight(max int, maxBytes int64) *inflight {
	f := &inflight{max: max, maxBytes: maxBytes, owed: make(map[string]*entry)}
	f.free.L = &f.mu
	return f
}

// add registers a call before it starts, so that a cancellation sent right after it finds it. It blocks while
// the session is at one of its bounds. The reader calls it, so that is backpressure on the client: no further
// message is read, and no call is refused. After a nil error the caller must call done.
func (f *inflight) add(m *message, list bool, to answers, cancel context.CancelFunc) (*entry, *abi.Error) {
	e := &entry{id: string(m.id), size: int64(m.size), list: list, to: to, cancel: cancel}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.isFull(e) && !f.closed {
		f.free.Wait()
	}
	switch {
	case f.closed:
		return nil, shuttingDown()
	case f.owed[e.id] != nil:
		return nil, callRuns()
	}
	f.owed[e.id] = e
	f.count(e, 1)
	f.ended.Add(1)
	return e, nil
}

// isFull reports whether a call has to wait until others have ended.
func (f *inflight) isFull(e *entry) bool {
	return f.running > 0 && (f.running >= f.max || f.bytes+e.size > f.maxBytes || e.list && f.lists >= maxLists)
}

// count adds a call to the totals, or removes it if n is -1.
func (f *inflight) count(e *entry, n int) {
	f.running += n
	f.bytes += int64(n) * e.size
	if e.list {
		f.lists += n
	}
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
	f.count(e, -1)
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
