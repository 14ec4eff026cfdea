package httpserver

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// primedVersion is the first protocol version whose streams begin with an event without data.
const primedVersion = "2025-11-25"

// answer writes a stream as the answer to an HTTP request: as one JSON object if the response is its first message,
// comes soon and was not announced, otherwise as server-sent events.
type answer struct {
	w      http.ResponseWriter
	r      *http.Request
	stream *stream
	reader *reader

	modern  bool
	session *session // of the legacy era; nil in the modern one
	primed  bool     // the client can resume the stream

	stopping <-chan struct{} // closed when stop has to be called; nil: never
	stop     func()
}

// finish does the rest of a call, if there is any, and writes the answer. A response that comes soon is written by the same
// goroutine. Anything else is written by another one, while the call runs.
func (a *answer) finish(rest func()) {
	if rest != nil && TestHook != nil {
		go rest() // the hook may end the connection before the call
		rest = nil
	}
	if rest == nil {
		a.write()
		return
	}
	var begun atomic.Bool
	written := make(chan struct{})
	begin := func() {
		if begun.CompareAndSwap(false, true) {
			go func() {
				defer close(written)
				defer a.stream.detach(a.reader)
				a.writeEvents()
			}()
		}
	}
	a.stream.notifyFirst(begin)
	timer := time.AfterFunc(streamAfter, begin)
	rest()
	timer.Stop()
	if begun.CompareAndSwap(false, true) {
		a.write()
		return
	}
	<-written
}

// write writes the answer to a POST. It returns when that is complete, or the connection has ended.
func (a *answer) write() {
	timer := time.NewTimer(streamAfter)
	defer timer.Stop()
	for {
		events, response, done := a.stream.next(a.reader)
		switch {
		case len(events) > 0, response == nil && a.stream.isAnnounced():
			a.writeEvents()
			return
		case response != nil:
			status := http.StatusOK
			if response.Err != nil {
				status = a.status(*response)
			}
			writeJSON(a.w, status, *response)
			a.stream.answered(a.reader)
			return
		case done:
			a.w.WriteHeader(http.StatusAccepted)
			return
		}
		select {
		case <-a.stream.wake:
		case <-timer.C:
			a.writeEvents()
			return
		case <-a.reader.disconnected:
		case <-a.r.Context().Done():
			return
		}
	}
}

// status returns the HTTP status of an error response.
func (a *answer) status(r gateway.Response) int {
	switch {
	case a.modern:
		return statusOf(r.Err)
	case r.ID == nil:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// statusOf returns the HTTP status for an error of the modern era.
func statusOf(err *abi.Error) int {
	switch err.Code {
	case abi.CodeMethodNotFound:
		return http.StatusNotFound
	case codeParseError, codeInvalidRequest, abi.CodeInvalidParams, codeHeaderMismatch, codeMissingCapability, codeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// writeJSON writes a response as the whole answer.
func writeJSON(w http.ResponseWriter, status int, r gateway.Response) {
	parts := r.Encode()
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.FormatInt(sizeOf(parts), 10)}
	w.WriteHeader(status)
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// writeEvents writes the stream as server-sent events.
func (a *answer) writeEvents() {
	control := http.NewResponseController(a.w)
	h := a.w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Accel-Buffering"] = []string{"no"}
	flush := func() bool { return control.Flush() == nil }
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	var late <-chan time.Time
	if a.stream.isAnnounced() {
		late = time.After(streamAfter) // a response that comes soon needs no stream to resume
	} else {
		a.prime()
	}
	if !flush() { // of an announced answer only the header, for which HTTP/2 has no flow control
		return
	}
	a.stream.begin()
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	for {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		events, response, done := a.stream.next(a.reader)
		switch {
		case len(events) > 0:
			a.prime()
			for _, e := range events {
				a.writeEvent(e.seq, e.parts)
			}
			if !flush() {
				return
			}
			a.stream.wrote(a.reader, events[len(events)-1].seq)
			continue
		case response != nil:
			a.writeEvent(a.stream.position()+1, response.Encode())
			if flush() {
				a.stream.answered(a.reader)
			}
			return
		case done:
			a.leave()
			return
		}
		select {
		case <-a.stream.wake:
		case <-ticker.C:
			if _, err := a.w.Write([]byte(":\n\n")); err != nil || !flush() {
				return
			}
		case <-late:
			a.prime()
			if !flush() {
				return
			}
		case <-a.stopping:
			a.stopping = nil
			go a.stop() // may wait until this connection has taken messages
		case <-a.reader.disconnected:
		case <-a.r.Context().Done():
			return
		}
	}
}

// prime makes the stream of a session one that can be resumed, and says so.
func (a *answer) prime() {
	if a.session == nil || a.primed {
		return
	}
	a.primed = true
	if a.stream.number != 0 && !a.stream.isResumable() {
		a.session.keep(a.stream)
	}
	if a.session.gateway.Version() >= primedVersion { // versions are dates
		_, _ = fmt.Fprintf(a.w, "id: %s\ndata: \n\n", eventID(a.stream.number, a.stream.position()))
	}
}

// leave tells the client when to reconnect, if the stream goes on without this connection.
func (a *answer) leave() {
	select {
	case <-a.reader.disconnected:
		if a.session != nil {
			_, _ = a.w.Write([]byte("retry: 500\n\n"))
		}
	default:
	}
}

// writeEvent writes a message. Messages of the modern era have no id, because streams cannot be resumed.
func (a *answer) writeEvent(seq uint64, parts [][]byte) {
	if a.session != nil {
		_, _ = a.w.Write([]byte("id: " + eventID(a.stream.number, seq) + "\n"))
	}
	_, _ = a.w.Write([]byte("data: "))
	for _, part := range parts {
		if _, err := a.w.Write(part); err != nil {
			return
		}
	}
	_, _ = a.w.Write([]byte("\n\n"))
}

// eventID identifies an event in its session.
func eventID(stream, seq uint64) string {
	return strconv.FormatUint(stream, 10) + "-" + strconv.FormatUint(seq, 10)
}
