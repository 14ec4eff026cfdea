// Package asynclog queues log lines for a writer that may block, such as a stderr that nobody reads. New
// starts a Queue, whose Write never waits for the writer; Close gives it a bounded time to catch up.
package asynclog

import (
	"io"
	"sync"
	"time"
)

// Bounds of a queue: what waits to be written. A single line may take up all the bytes.
const (
	MaxBytes = 1 << 20
	MaxLines = 8192
)

// Queue is a bounded queue of lines. What does not fit is dropped and counted, and the count is written as
// soon as there is room again. It is safe for concurrent use.
type Queue struct {
	out     io.Writer
	dropped func(lines int) []byte
	wake    chan struct{} // something is queued, or the queue is closed
	done    chan struct{} // closed when everything was written after Close

	mu     sync.Mutex
	lines  [][]byte
	bytes  int // of lines
	lost   int // lines dropped since the last report of them
	closed bool
}

// New starts a queue to out. dropped words the line, with its line break, that reports lines that did not fit.
func New(out io.Writer, dropped func(lines int) []byte) *Queue {
	q := &Queue{out: out, dropped: dropped, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// Write queues a copy of p, which is one line or several that belong together; it never blocks and never
// fails. Lines written after Close are dropped.
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
	default: // it is awake, or about to be
	}
}

// run writes what is queued until the queue is closed and empty.
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
			_, _ = q.out.Write(line) // there is nowhere to report it
		}
	}
}

// take removes the first line of the queue; nil if there is none. The report of lines dropped follows those
// that were queued before them.
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
		q.lines = nil // gives its array back
	}
	return line, q.closed
}

// Close takes no more lines and waits until those queued are written, for no longer than wait. It tells
// whether all were. A write that blocks keeps its goroutine.
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
