package gateway

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
)

// keptBuffer is the maximum size, in bytes, of a buffer that is reused.
const keptBuffer = 1 << 20

// gatheredBuffer is the size, in bytes, above which responses do not wait for further ones.
const gatheredBuffer = 64 << 10

// lock is a mutex that can be waited for until a channel is closed.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// acquire locks l, or returns false after done was closed.
func (l lock) acquire(done <-chan struct{}) bool {
	select {
	case l <- struct{}{}:
		return true
	case <-done:
		return false
	}
}

func (l lock) release() { <-l }

// writer sends messages, each as one line. It is safe for concurrent use.
type writer struct {
	out     io.Writer
	broken  func(error) // called with the first error of out
	several func() bool // reports whether several calls are in flight: then responses are gathered for one Write

	isClosed atomic.Bool
	closed   chan struct{} // closed when isClosed is set

	writing  lock          // held during Write; guards the fields below
	buffer   []byte        // lines to send; its memory is reused
	gathered chan struct{} // closed when the goroutine that gathers lines has sent them; nil if there is none
}

func newWriter(out io.Writer, broken func(error), several func() bool) *writer {
	return &writer{out: out, broken: broken, several: several, closed: make(chan struct{}), writing: newLock()}
}

// Put implements Peer. Once the writer is closed or out has failed it does nothing.
func (w *writer) Put(message ...[]byte) {
	if w.writing.acquire(w.closed) {
		w.add(message)
		w.flush()
		w.writing.release()
	}
}

// Respond implements Peer. If several calls are in flight, it first lets other goroutines run, and sends their
// responses in the same Write; the Respond calls of all of them return after it.
func (w *writer) Respond(r Response) {
	message := r.Encode()
	if !w.several() {
		w.Put(message...)
		return
	}
	if !w.writing.acquire(w.closed) {
		return
	}
	w.add(message)
	sent := w.gathered
	switch {
	case len(w.buffer) > gatheredBuffer:
		w.flush()
		w.writing.release()
	case sent != nil:
		w.writing.release()
		select {
		case <-sent:
		case <-w.closed:
		}
	default:
		sent = make(chan struct{})
		w.gathered = sent
		w.writing.release()
		runtime.Gosched()
		if w.writing.acquire(w.closed) {
			w.gathered = nil
			w.flush()
			w.writing.release()
			close(sent)
		}
	}
}

// add appends a message to the lines to send.
func (w *writer) add(message [][]byte) {
	size := 1
	for _, part := range message {
		size += len(part)
	}
	w.buffer = slices.Grow(w.buffer, size)
	for _, part := range message {
		w.buffer = append(w.buffer, part...)
	}
	w.buffer = append(w.buffer, '\n')
}

// flush sends the lines.
func (w *writer) flush() {
	if len(w.buffer) > 0 && !w.isClosed.Load() {
		if _, err := w.out.Write(w.buffer); err != nil && w.close() {
			w.broken(fmt.Errorf("cannot write to the client: %w", err))
		}
	}
	if w.buffer = w.buffer[:0]; cap(w.buffer) > keptBuffer {
		w.buffer = nil
	}
}

// Skip implements Peer.
func (w *writer) Skip() {}

// Closed implements Peer.
func (w *writer) Closed() <-chan struct{} { return w.closed }

// close makes every Put return, except a Put that is blocked in Write. It reports whether the writer was open.
func (w *writer) close() bool {
	if w.isClosed.Swap(true) {
		return false
	}
	close(w.closed)
	return true
}

var _ Peer = (*writer)(nil)
