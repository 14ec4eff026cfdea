package dispatch

import (
	"context"
	"sync"
)

// queue orders the calls of one plugin. A call that writes runs alone. A call that reads runs after the writes that were requested
// before it. Pipelined calls therefore have the same effect as calls made one at a time, although reads run concurrently.
type queue struct {
	mu              sync.Mutex
	concurrentReads bool   // whether reads are not ordered: see manifest.ReadsConcurrent
	calls           uint64 // number of calls that have entered so far
	first, last     *turn  // the turns in their order; first is the turn that runs
}

// turn is a sequence of calls that may run concurrently: either consecutive reads, or a single write.
type turn struct {
	write bool
	open  int           // number of calls that have not left the queue
	ready chan struct{} // closed when all earlier turns are over
	next  *turn
}

// ticket is a call's position in the queue.
type ticket struct {
	queue  *queue
	turn   *turn  // turn of the call; nil: the call is not ordered
	number uint64 // number of the call in the order of requests
}

// configure sets concurrentReads for calls that enter later.
func (q *queue) configure(concurrentReads bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.concurrentReads = concurrentReads
}

// enter adds a call to the queue and returns its ticket. The caller must call leave later.
func (q *queue) enter(write bool) ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls++
	if q.concurrentReads && !write {
		return ticket{q, nil, q.calls}
	}
	t := q.last
	if t == nil || t.write || write {
		t = &turn{write: write, ready: make(chan struct{})}
		if q.last == nil {
			q.first = t
			close(t.ready)
		} else {
			q.last.next = t
		}
		q.last = t
	}
	t.open++
	return ticket{q, t, q.calls}
}

// wait returns when the call may run. If ctx ends first, wait returns its error.
func (t ticket) wait(ctx context.Context) error {
	if t.turn == nil {
		return nil
	}
	select {
	case <-t.turn.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave removes the call from the queue, whether or not the call has run.
func (t ticket) leave() {
	if t.turn == nil {
		return
	}
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t.turn.open--
	for q.first != nil && q.first.open == 0 {
		if q.first = q.first.next; q.first == nil {
			q.last = nil
		} else {
			close(q.first.ready)
		}
	}
}
