package host

import (
	"context"
	"sync"
)

// queue keeps the calls of one plugin in the order they came in, as far as it matters: a call that writes
// runs alone, and one that reads runs after the writes before it. So pipelined calls have the effect that
// they would have one at a time, while reads run side by side.
type queue struct {
	mu          sync.Mutex
	first, last *turn // first is the one that runs
}

// turn is a run of calls that may go on at the same time: reads, or one write.
type turn struct {
	write bool
	open  int           // calls that have not ended
	ready chan struct{} // closed when the turns before it are over
	next  *turn
}

// ticket is a call's place in the queue.
type ticket struct {
	queue *queue
	turn  *turn
}

// enter takes the next place. leave must follow.
func (q *queue) enter(write bool) ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
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
	return ticket{q, t}
}

// wait returns when the call may run, or ctx's error.
func (t ticket) wait(ctx context.Context) error {
	select {
	case <-t.turn.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives the place up, whether its turn has come or not.
func (t ticket) leave() {
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
