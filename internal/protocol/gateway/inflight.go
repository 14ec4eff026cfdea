package gateway

import (
	"context"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// inflight tracks a session's calls from their start until their response is written. It is keyed by the raw
// bytes of the id: 1 and "1" are different ids, and large numbers must not be rounded.
type inflight struct {
	max      int
	maxBytes int64
	refuses  bool // add returns an error where it would block

	mu      sync.Mutex
	free    sync.Cond         // signalled when a call has ended, and on close
	pending map[string]*entry // calls whose response is still to be sent
	running int               // calls that have not ended, including cancelled ones
	bytes   int64             // total size of their requests
	closed  bool
	ended   sync.WaitGroup
}

// entry is one call in flight.
type entry struct {
	id     string
	size   int64 // bytes of its request
	to     Peer
	failed bool // failPending has sent its response
	cancel context.CancelFunc
}

// pendingLines bounds the total size of the requests in flight, in multiples of MaxLine. A single request is always
// admitted.
const pendingLines = 2

func newInflight(max int, maxBytes int64) *inflight {
	f := &inflight{max: max, maxBytes: maxBytes, pending: make(map[string]*entry)}
	f.free.L = &f.mu
	return f
}

// add registers a call before it starts, so that a cancellation sent right after the request finds it. It blocks while
// the session has reached one of its bounds, unless f.refuses is set. The reader calls it, so blocking exerts backpressure on the client: no
// further message is read, and no call is refused. After a nil error the caller must call done.
func (f *inflight) add(m *message, to Peer, cancel context.CancelFunc) (*entry, *abi.Error) {
	e := &entry{id: string(m.id), size: int64(m.size), to: to, cancel: cancel}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.isFull(e) && !f.closed {
		if f.refuses {
			return nil, &abi.Error{Code: codeServerError, Message: fmt.Sprintf("too many calls of this session are in flight (%d, %d bytes): wait until others have ended", f.running, f.bytes)}
		}
		f.free.Wait()
	}
	switch {
	case f.closed:
		return nil, shuttingDown()
	case f.pending[e.id] != nil:
		return nil, callIDInUse()
	}
	f.pending[e.id] = e
	f.count(e, 1)
	f.ended.Add(1)
	return e, nil
}

// isFull reports whether a call has to wait until others have ended.
func (f *inflight) isFull(e *entry) bool {
	return f.running > 0 && (f.running >= f.max || f.bytes+e.size > f.maxBytes)
}

// count adds a call to the totals, or removes it if n is -1.
func (f *inflight) count(e *entry, n int) {
	f.running += n
	f.bytes += int64(n) * e.size
}

// several reports whether at least two calls have not ended.
func (f *inflight) several() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running > 1
}

// isPending reports whether the response to a call with that id is still to be sent.
func (f *inflight) isPending(id []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending[string(id)] != nil
}

// callIDInUse refuses a request with the id of a running call: neither their responses nor their cancellations
// could be told apart.
func callIDInUse() *abi.Error { return invalidRequest("a call with this id is still running") }

// claim reports whether the caller may send a call's response: at most once, and not after a cancellation.
func (f *inflight) claim(e *entry) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending[e.id] != e {
		return false
	}
	delete(f.pending, e.id)
	return true
}

// cancel cancels the call with that id, if there is one, and drops its response.
func (f *inflight) cancel(id []byte) {
	f.mu.Lock()
	e := f.pending[string(id)]
	delete(f.pending, string(id))
	f.mu.Unlock()
	if e != nil {
		e.cancel()
	}
}

// pause takes a call that waits for an answer of its client out of the totals, so that it does not keep the reader from
// reading the answer. Its request still takes memory, which asks bounds.
func (f *inflight) pause(e *entry) {
	f.mu.Lock()
	f.count(e, -1)
	f.free.Signal()
	f.mu.Unlock()
}

// resume adds a paused call to the totals, with the bytes of the answers that it retains. It does not wait: the bounds are
// exceeded by at most the calls that asks admits.
func (f *inflight) resume(e *entry, answers int64) {
	f.mu.Lock()
	e.size += answers
	f.count(e, 1)
	f.mu.Unlock()
}

// done removes a call that has ended and whose response, if any, was sent.
func (f *inflight) done(e *entry) {
	e.cancel()
	f.mu.Lock()
	f.count(e, -1)
	f.free.Signal()
	f.mu.Unlock()
	f.ended.Done()
}

// close makes add return an error from now on.
func (f *inflight) close() {
	f.mu.Lock()
	f.closed = true
	f.free.Broadcast()
	f.mu.Unlock()
}

// failPending sends an error as the response to all pending calls and drops their own responses.
func (f *inflight) failPending() {
	f.mu.Lock()
	pending := f.pending
	f.pending = map[string]*entry{}
	for _, e := range pending {
		e.failed = true
	}
	f.mu.Unlock()
	for _, e := range pending {
		putError(e.to, []byte(e.id), shuttingDown())
	}
}
