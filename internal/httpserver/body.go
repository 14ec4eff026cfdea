package httpserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// firstRead is the size, in bytes, of the first part of a body of unknown length.
const firstRead = 4 << 10

// readBody reads the body of a request within bounds of size and time. release must be called when the body is not used any
// more.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), status int, why string) {
	long := fmt.Sprintf("the body is longer than %d bytes", s.config.MaxBody)
	if r.ContentLength > s.config.MaxBody {
		return nil, nil, http.StatusRequestEntityTooLarge, long
	}
	size := max(r.ContentLength+1, firstRead)
	reserved := int64(0)
	release = func() { s.bodies.give(reserved) }
	reserve := func(n int64) bool {
		if !s.bodies.take(n) {
			return false
		}
		reserved += n
		return true
	}
	const busy = "the requests that are handled take too much memory"
	if !reserve(size) {
		return nil, nil, http.StatusServiceUnavailable, busy
	}
	control := http.NewResponseController(w)
	begin := time.Now()
	_ = control.SetReadDeadline(begin.Add(bodyTimeout))
	defer func() {
		if now := time.Now(); now.Sub(begin) > time.Second {
			_ = control.SetWriteDeadline(now.Add(writeTimeout))
		}
	}()
	body = make([]byte, 0, size)
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
			grown := 2 * int64(cap(body))
			if !reserve(grown - int64(cap(body))) {
				release()
				return nil, nil, http.StatusServiceUnavailable, busy
			}
			next := make([]byte, len(body), grown)
			copy(next, body)
			body = next
		}
	}
}
