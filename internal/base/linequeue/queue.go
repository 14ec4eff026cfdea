// Package linequeue queues lines for a writer that may block, such as a disk, or a stderr that is not read. New starts a Queue,
// whose Add never waits for the writer; Close drains it in bounded time.
package linequeue

import (
	"bytes"
	"context"
	"errors"
	"sync"
)

// keptBytes is the capacity that is reused between batches.
const keptBytes = 256 << 10

// The errors of Add.
var (
	errFull   = errors.New("the queue is full")
	ErrClosed = errors.New("the queue is closed")
)

// Queue is a bounded queue of lines. It is safe for concurrent use.
type Queue struct {
	write func(batch []byte, lost int)
	max   int           // bytes
	wake  chan struct{} // receives an element when lines were added or lost, and when the queue was closed
	done  chan struct{} // closed after Close, when the queue is empty

	mu     sync.Mutex
	lines  []byte
	lost   int // calls of Add since the last batch whose lines did not fit
	closed bool
}

// New starts a queue of at most maxBytes. In one goroutine it calls write with all lines that were added since the last call, and
// with the number of calls of Add whose lines did not fit after them. write must not keep the slice.
func New(maxBytes int, write func(batch []byte, lost int)) *Queue {
	q := &Queue{write: write, max: maxBytes, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// Add queues a copy of one or more complete lines, or none of them.
func (q *Queue) Add(lines []byte) error {
	q.mu.Lock()
	err := error(nil)
	switch {
	case q.closed:
		err = ErrClosed
	case len(q.lines)+len(lines) > q.max:
		q.lost++
		err = errFull
	default:
		q.lines = append(q.lines, lines...)
	}
	q.mu.Unlock()
	q.signal()
	return err
}

// Write is Add for a log, whose writer gets no error.
func (q *Queue) Write(lines []byte) (int, error) {
	_ = q.Add(lines) // counted
	return len(lines), nil
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// run writes batches until the queue is closed and empty.
func (q *Queue) run() {
	defer close(q.done)
	var batch []byte
	for range q.wake {
		q.mu.Lock()
		batch, q.lines = q.lines, batch[:0]
		lost, closed := q.lost, q.closed
		q.lost = 0
		q.mu.Unlock()
		if len(batch) > 0 || lost > 0 {
			q.write(batch, lost)
		}
		if cap(batch) > keptBytes {
			batch = nil
		}
		if closed {
			return
		}
	}
}

// Close accepts no more lines, and waits until the queued lines are written or ctx ends. Then it returns the number of lines in the
// queue, without those that are being written, and the error of ctx. A blocked write leaks its goroutine.
func (q *Queue) Close(ctx context.Context) (left int, err error) {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	select {
	case <-q.done:
		return 0, nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		return bytes.Count(q.lines, []byte{'\n'}), ctx.Err()
	}
}
