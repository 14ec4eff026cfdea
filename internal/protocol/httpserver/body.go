package httpserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// smallBody is the size, in bytes, up to which a body is not counted. Connections and requests are bounded, and clients whose
// large bodies arrive slowly do not keep out those that send little.
const smallBody = 16 << 10

// readBody reads the body of a request within bounds of size and time. The memory of a large body is counted as it arrives,
// whatever the length that the header states. release must be called when the body is not used any more. The connection is busy then.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), status int, why string) {
	long := fmt.Sprintf("the body is longer than %d bytes", s.config.MaxBody)
	if r.ContentLength > s.config.MaxBody {
		return nil, nil, http.StatusRequestEntityTooLarge, long
	}
	largest := s.config.MaxBody + 1 // one byte more than the body, so that its end is found
	if r.ContentLength >= 0 {
		largest = r.ContentLength + 1
	}
	reserved := int64(0)
	release = func() { s.bodies.give(reserved); reserved = 0 }
	reserve := func(n int64) bool {
		if !s.bodies.take(n) {
			return false
		}
		reserved += n
		return true
	}
	s.connections.setAnswering(r, false)
	defer func() {
		answers := s.connections.setBusy
		if why != "" {
			answers = func(r *http.Request) bool { return s.connections.setAnswering(r, true) }
		}
		if !answers(r) {
			release()
			panic(http.ErrAbortHandler)
		}
	}()
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) }()
	body = make([]byte, 0, min(largest, smallBody))
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > s.config.MaxBody:
			release()
			return nil, nil, http.StatusRequestEntityTooLarge, long
		case errors.Is(err, io.EOF):
			_ = control.SetReadDeadline(time.Time{}) // a later timeout would look like the end of the connection
			return body, release, 0, ""
		case errors.Is(err, os.ErrDeadlineExceeded):
			release()
			return nil, nil, http.StatusRequestTimeout, "the body did not arrive in time"
		case err != nil:
			release()
			return nil, nil, http.StatusBadRequest, "the body is incomplete"
		}
		if len(body) == cap(body) {
			grown := min(2*int64(cap(body)), largest)
			if !reserve(grown - int64(cap(body))) {
				release()
				return nil, nil, http.StatusServiceUnavailable, "the requests that are handled take too much memory"
			}
			next := make([]byte, len(body), grown)
			copy(next, body)
			body = next
		}
	}
}
