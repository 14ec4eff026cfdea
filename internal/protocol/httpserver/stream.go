package httpserver

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// Bounds of a stream.
const (
	maxUnread     = 64 << 10  // bytes of messages that wait for a connection that reads; beyond that, Put blocks
	maxKept       = 256 << 10 // bytes of messages that are kept for a client that may reconnect
	maxKeptEvents = 256
	smallResponse = 64 << 10 // bytes of a response that the server's budget does not count

	announceTimeout = 2 * time.Second // for the header of an answer to be sent, while other calls of the principal wait
)

// budget bounds the memory of the messages in all streams of a server.
type budget struct {
	max  int64
	used atomic.Int64
}

// take adds n bytes. It returns false if they do not fit.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.max {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// event is a message of a stream.
type event struct {
	seq   uint64 // position in the stream, from 1
	parts [][]byte
}

func sizeOf(parts [][]byte) (n int64) {
	for _, part := range parts {
		n += int64(len(part))
	}
	return n
}

// stream holds the messages of one request, or those of a session that belong to no request, until they are written. It
// implements gateway.Peer. At most one connection reads it at a time.
type stream struct {
	number    uint64 // identifies the stream in its session; 0 is the session's own
	resumable bool   // messages are kept after they were written, and while no connection reads
	budget    *budget
	sender    call.Sender // of the request that has the stream

	closed chan struct{}
	wake   chan struct{} // has capacity 1, and an element if the reader has to look

	mu       sync.Mutex
	progress sync.Cond // signalled when messages were written, or the stream was closed or has no reader any more
	events   []event
	bytes    int64  // size of events, which the budget includes
	last     uint64 // position of the last event
	written  uint64 // position of the last event that was written
	unread   int64  // size of the events after that one
	reader   *reader
	response *gateway.Response
	counted  int64  // bytes of the response that the budget includes
	ended    bool   // Respond or Skip was called
	onEnd    func() // called when ended is set; may be nil
	onFirst  func() // called when the first event was put, or the answer is announced; may be nil

	announced bool // the answer has to begin before there is an event
	begun     bool // the answer has begun
}

// Sender implements gateway.Remote.
func (s *stream) Sender() call.Sender { return s.sender }

func newStream(number uint64, b *budget) *stream {
	s := &stream{number: number, budget: b, closed: make(chan struct{}), wake: make(chan struct{}, 1)}
	s.progress.L = &s.mu
	return s
}

// Put implements gateway.Peer.
func (s *stream) Put(message ...[]byte) {
	size := sizeOf(message)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.reader != nil && s.unread > 0 && s.unread+size > maxUnread {
		s.progress.Wait()
	}
	if s.isClosed() || !s.reserve(size) {
		return
	}
	if s.last == 0 && s.onFirst != nil {
		s.onFirst()
	}
	s.last++
	s.events, s.bytes, s.unread = append(s.events, event{s.last, slices.Clone(message)}), s.bytes+size, s.unread+size
	for len(s.events) > 1 && (s.bytes > maxKept || len(s.events) > maxKeptEvents) && (s.reader == nil || s.events[0].seq <= s.written) {
		s.dropFirst()
	}
	s.signal()
}

// reserve takes memory for an event from the budget. If that is used up by what is kept for lost clients, a connection that reads
// gets its messages nevertheless, because few of them wait for it.
func (s *stream) reserve(size int64) bool {
	if s.budget.take(size) {
		return true
	}
	if s.reader == nil {
		return false
	}
	for len(s.events) > 0 && s.events[0].seq <= s.written {
		s.dropFirst()
	}
	s.budget.used.Add(size)
	return true
}

// Announce implements gateway.Announcer. It has the reader write the header of the answer.
func (s *stream) Announce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.progress.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.announced && !s.ended && !s.isClosed() {
		s.announced = true
		if s.onFirst != nil {
			s.onFirst()
		}
		s.signal()
	}
	for s.reader != nil && !s.begun && !s.ended && ctx.Err() == nil {
		s.progress.Wait()
	}
}

// notifyFirst has a function called when the first event is put.
func (s *stream) notifyFirst(first func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onFirst = first
}

// dropFirst removes the first event.
func (s *stream) dropFirst() {
	size := sizeOf(s.events[0].parts)
	if s.events[0].seq > s.written {
		s.unread -= size
	}
	s.events[0] = event{}
	s.events, s.bytes = s.events[1:], s.bytes-size
	s.budget.give(size)
}

// Respond implements gateway.Peer. It returns when the response was written, or dropped, or its memory is accounted for:
// then a client that does not read holds nothing of the backend.
func (s *stream) Respond(r gateway.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.end()
	if s.isClosed() {
		return
	}
	s.response = &r
	if size := sizeOfResponse(r); size > smallResponse && s.budget.take(size) {
		s.counted = size
	}
	if s.kept() {
		return
	}
	if s.reader == nil {
		s.dropResponse()
		return
	}
	s.ended = true
	s.signal()
	for s.response != nil {
		s.progress.Wait()
	}
}

func sizeOfResponse(r gateway.Response) int64 {
	n := int64(len(r.Result)) + sizeOf(r.Batch)
	if r.Err != nil {
		n += int64(len(r.Err.Message) + len(r.Err.Data))
	}
	return n
}

// Skip implements gateway.Peer.
func (s *stream) Skip() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

func (s *stream) end() {
	s.ended = true
	if s.onEnd != nil {
		s.onEnd()
		s.onEnd = nil
	}
	s.signal()
	s.progress.Broadcast()
}

// Closed implements gateway.Peer.
func (s *stream) Closed() <-chan struct{} { return s.closed }

func (s *stream) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// resume makes the stream resumable: a connection that reads it later finds the messages that this one did not get.
func (s *stream) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumable = true
}

func (s *stream) isResumable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resumable
}

// forget makes the stream one that cannot be resumed.
func (s *stream) forget() {
	s.mu.Lock()
	s.resumable = false
	unused := s.reader == nil
	s.mu.Unlock()
	if unused {
		s.close()
	}
}

// isEnded reports whether no further messages will follow.
func (s *stream) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// kept reports whether the memory of the response is accounted for.
func (s *stream) kept() bool {
	return s.response != nil && (s.counted > 0 || sizeOfResponse(*s.response) <= smallResponse)
}

func (s *stream) dropResponse() {
	s.budget.give(s.counted)
	s.response, s.counted = nil, 0
	s.progress.Broadcast()
}

// close drops all messages, and further ones.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return
	}
	close(s.closed)
	for len(s.events) > 0 {
		s.dropFirst()
	}
	if s.reader != nil {
		close(s.reader.disconnected)
		s.reader = nil
	}
	s.dropResponse()
}

var _ gateway.Peer = (*stream)(nil)
var _ gateway.Announcer = (*stream)(nil)
