package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxQueue bounds what waits to be written, in bytes: more than ten thousand lines, so that a disk that is
// slow for a moment loses none. keptQueue is how much of that stays allocated.
const (
	maxQueue  = 8 << 20
	keptQueue = 256 << 10
)

var errQueueFull = errors.New("records come faster than the disk takes them")

// queue keeps writing off the path of calls that may go on without it. What does not fit is counted as lost.
type queue struct {
	trouble *trouble
	wake    chan struct{} // something is queued, or the queue is closed
	done    chan struct{} // closed after the last record was written

	mu     sync.Mutex
	lines  []byte
	closed bool
}

func newQueue(t *trouble) *queue {
	return &queue{trouble: t, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (q *queue) add(line []byte) {
	q.mu.Lock()
	fits := !q.closed && len(q.lines)+len(line) <= maxQueue
	if fits {
		q.lines = append(q.lines, line...)
	}
	closed := q.closed
	q.mu.Unlock()
	switch {
	case fits:
		q.signal()
	case closed:
		q.trouble.lose(1, errors.New("the log is closed"))
	default:
		q.trouble.lose(1, errQueueFull)
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// run writes what is queued until the queue is closed.
func (q *queue) run(s *sink) {
	defer close(q.done)
	var batch []byte
	for range q.wake {
		q.mu.Lock()
		batch, q.lines = q.lines, batch[:0]
		closed := q.closed
		q.mu.Unlock()
		if len(batch) > 0 {
			_ = s.put(batch) // it has counted what is lost
		}
		if cap(batch) > keptQueue {
			batch = nil
		}
		if closed {
			return
		}
	}
}

// close ends the queue after what is in it.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		return fmt.Errorf("%d records and those being written are lost: %w", countLines(q.lines), ctx.Err())
	}
}
