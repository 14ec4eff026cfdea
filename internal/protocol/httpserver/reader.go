package httpserver

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// reader is a connection that reads a stream.
type reader struct {
	disconnected chan struct{} // closed when the connection has to end, although the stream goes on
}

// attach makes a connection the reader, after position "from". The connection that was the reader before is disconnected.
func (s *stream) attach(from uint64) *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		close(s.reader.disconnected)
	}
	s.reader = &reader{disconnected: make(chan struct{})}
	if from > s.last { // the client has the response, which follows the last event
		s.dropResponse()
	}
	s.written, s.unread = from, 0
	for _, e := range s.events {
		if e.seq > from {
			s.unread += sizeOf(e.parts)
		}
	}
	s.signal()
	return s.reader
}

// detach ends the use of the stream by a connection. A stream that is not resumable is closed.
func (s *stream) detach(r *reader) {
	s.mu.Lock()
	isReader, resumable := s.reader == r, s.resumable
	if isReader {
		s.leave()
	}
	s.mu.Unlock()
	if isReader && !resumable {
		s.close()
	}
}

// next returns the events that the reader has to write, and then the response. done is set if nothing will follow.
func (s *stream) next(r *reader) (events []event, response *gateway.Response, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != r {
		return nil, nil, true
	}
	for i, e := range s.events {
		if e.seq > s.written {
			return slices.Clone(s.events[i:]), nil, false
		}
	}
	return nil, s.response, s.ended
}

// wrote states that the reader has written all events up to a position.
func (s *stream) wrote(r *reader, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != r {
		return
	}
	for _, e := range s.events {
		if e.seq > s.written && e.seq <= seq {
			s.unread -= sizeOf(e.parts)
		}
	}
	s.written = seq
	for !s.resumable && len(s.events) > 0 && s.events[0].seq <= seq {
		s.dropFirst()
	}
	s.progress.Broadcast()
}

// answered states that the reader has written the response.
func (s *stream) answered(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == r && (!s.resumable || !s.kept()) {
		s.dropResponse()
	}
}

// position returns the position of the last event that was written.
func (s *stream) position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// has reports whether the stream has had an event at a position. The response follows the last event.
func (s *stream) has(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return seq <= s.last+1
}

// isAnnounced reports whether the answer has to begin.
func (s *stream) isAnnounced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.announced
}

// begin states that the answer has begun.
func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	s.progress.Broadcast()
}

// disconnect ends the connection that reads the stream, if any.
func (s *stream) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disconnectLocked()
}

// disconnectReader ends a connection, unless another one has become the reader.
func (s *stream) disconnectReader(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == r {
		s.disconnectLocked()
	}
}

func (s *stream) disconnectLocked() {
	if s.reader != nil {
		close(s.reader.disconnected)
		s.leave()
	}
}

// leave states that no connection reads any more.
func (s *stream) leave() {
	s.reader = nil
	if s.response != nil && !s.kept() {
		s.dropResponse()
	}
	s.progress.Broadcast()
}
