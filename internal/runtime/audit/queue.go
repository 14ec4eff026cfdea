package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxQueue bounds the queued lines in bytes. More than ten thousand lines fit, so a short stall of the disk loses none.
// keptQueue is the capacity that is reused between batches.
const (
	maxQueue  = 8 << 20
	keptQueue = 256 << 10
)

var errQueueFull = errors.New("the queue is full: records arrive faster than they are written")

// queue writes records asynchronously, so that calls do not wait for the disk. Records that exceed maxQueue are
// dropped and counted as lost.
type queue struct {
	losses *losses
	wake   chan struct{} // signals that lines were added, or that the queue was closed
	done   chan struct{} // closed after the last record was written

	mu     sync.Mutex
	lines  []byte
	closed bool
}

func newQueue(l *losses) *queue {
	return &queue{losses: l, wake: make(chan struct{}, 1), done: make(chan struct{})}
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
		q.losses.add(1, errors.New("the log is closed"))
	default:
		q.losses.add(1, errQueueFull)
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// run writes queued lines until the queue is closed and drained.
func (q *queue) run(s *sink) {
	defer close(q.done)
	var batch []byte
	for range q.wake {
		q.mu.Lock()
		batch, q.lines = q.lines, batch[:0]
		closed := q.closed
		q.mu.Unlock()
		if len(batch) > 0 {
			_ = s.put(batch) // put counts the records that are lost
		}
		if cap(batch) > keptQueue {
			batch = nil
		}
		if closed {
			return
		}
	}
}

// close closes the queue and drains it until ctx is done.
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
		return fmt.Errorf("%d queued records, and those that are being written, are lost: %w", countLines(q.lines), ctx.Err())
	}
}
