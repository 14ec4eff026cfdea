// Package asynclog queues log lines for a writer that may block, such as a stderr that is not read. New starts a
// Queue, whose Write never waits for the writer; Close flushes it in bounded time.
package asynclog

import (
	"io"
	"sync"
	"time"
)

// Capacity of a queue. A single line may use all bytes.
const (
	MaxBytes = 1 << 20
	MaxLines = 8192
)

// Queue is a bounded queue of lines. Lines that do not fit are dropped and counted; the count is written after the
// lines that were queued before. It is safe for concurrent use.
type Queue struct {
	out     io.Writer
	dropped func(lines int) []byte
	wake    chan struct{} // receives an element when lines are queued, and when the queue is closed
	done    chan struct{} // closed after Close, when the queue is empty

	mu     sync.Mutex
	lines  [][]byte
	bytes  int // total size of lines
	lost   int // lines dropped since the last report
	closed bool
}

// New starts a queue for out. dropped formats the line, newline included, that reports dropped lines.
func New(out io.Writer, dropped func(lines int) []byte) *Queue {
	q := &Queue{out: out, dropped: dropped, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// Write queues a copy of p, which contains one or more complete lines. These lines are written together. Write never blocks and
// never fails. Lines written after Close are dropped without being counted.
func (q *Queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	switch {
	case q.closed || len(p) == 0:
	case len(q.lines) >= MaxLines || q.bytes+len(p) > MaxBytes:
		q.lost++
	default:
		q.lines, q.bytes = append(q.lines, append([]byte(nil), p...)), q.bytes+len(p)
	}
	q.mu.Unlock()
	q.signal()
	return len(p), nil
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// run writes queued lines until the queue is closed and empty.
func (q *Queue) run() {
	defer close(q.done)
	for range q.wake {
		for {
			line, closed := q.take()
			if line == nil {
				if closed {
					return
				}
				break
			}
			_, _ = q.out.Write(line) // a failure of stderr cannot be reported anywhere
		}
	}
}

// take removes and returns the first line of the queue, or nil. The report of dropped lines follows the lines that
// were queued before them.
func (q *Queue) take() (line []byte, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.lines) > 0:
		line = q.lines[0]
		q.lines[0] = nil
		q.lines, q.bytes = q.lines[1:], q.bytes-len(line)
	case q.lost > 0:
		line = q.dropped(q.lost)
		q.lost = 0
	default:
		q.lines = nil // releases the array
	}
	return line, q.closed
}

// Close accepts no more lines, and waits at most the duration "wait" until the queued lines are written. It reports whether all of
// them were written. A blocked write leaks its goroutine.
func (q *Queue) Close(wait time.Duration) bool {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-q.done:
		return true
	case <-timer.C:
		return false
	}
}
