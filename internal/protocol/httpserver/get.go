package httpserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// checkSessionRequest checks a GET or DELETE. The modern era has neither.
func (s *Server) checkSessionRequest(w http.ResponseWriter, r *http.Request, view *gateway.View) bool {
	if r.ContentLength != 0 {
		refuse(w, http.StatusBadRequest, "a "+r.Method+" must not have a body")
		return false
	}
	if slices.ContainsFunc(r.Header[headerVersion], gateway.IsModern) {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "protocol version "+gateway.ModernVersion+" has neither GET nor DELETE: use subscriptions/listen")
		return false
	}
	return s.checkVersion(w, r, view, nil)
}

// get opens the stream of a session's own messages, or resumes a stream.
func (s *Server) get(w http.ResponseWriter, r *http.Request, by access) {
	if !s.checkSessionRequest(w, r, by.view) {
		return
	}
	if !accepts(r.Header, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, "the Accept header must list text/event-stream")
		return
	}
	if w = s.charge(w, r, by, nil); w == nil {
		return
	}
	session := s.findSession(w, r, by, nil)
	if session == nil {
		return
	}
	defer session.leave()
	if s.draining.Load() {
		refuseBusy(w, nil, "the server is shutting down")
		return
	}
	s.begin()
	defer s.done()
	if !s.connections.setBusy(r) {
		panic(http.ErrAbortHandler)
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.refuseFull(w, nil, "too many streams are open")
		return
	}
	st, from := session.own, session.own.position()
	if last := r.Header.Get(headerLastEvent); last != "" {
		var ok bool
		if st, from, ok = session.event(last); !ok {
			refuse(w, http.StatusBadRequest, "the Last-Event-ID is unknown, or its stream can no longer be resumed")
			return
		}
	}
	reader := st.attach(from)
	defer by.atEnd(func() { st.disconnectReader(reader) })()
	defer st.detach(reader)
	a := &answer{w: w, r: r, stream: st, reader: reader, session: session}
	if st == session.own {
		a.stopping, a.stop = s.stopping, st.disconnect
	}
	a.writeEvents()
}

// event returns the stream of an event, and the event's position in it.
func (s *session) event(id string) (st *stream, seq uint64, ok bool) {
	first, second, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return nil, 0, false
	}
	seq, err = strconv.ParseUint(second, 10, 64)
	if st = s.stream(number); err != nil || st == nil || !st.has(seq) {
		return nil, 0, false
	}
	return st, seq, true
}

// delete ends a session.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, by access) {
	if !s.checkSessionRequest(w, r, by.view) {
		return
	}
	session := s.findSession(w, r, by, nil)
	if session == nil {
		return
	}
	defer session.leave()
	s.sessions.remove(session)
	s.log.Debug("a session was ended by its client")
	w.WriteHeader(http.StatusNoContent)
}
