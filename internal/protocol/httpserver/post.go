package httpserver

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Codes of JSON-RPC and MCP.
const (
	codeInvalidRequest     = -32600
	codeServerError        = -32000
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
	codeParseError         = -32700
)

// Headers of MCP, in the canonical form of package http.
const (
	headerVersion   = "Mcp-Protocol-Version"
	headerSession   = "Mcp-Session-Id"
	headerLastEvent = "Last-Event-Id"
	headerMethod    = "Mcp-Method"
	headerName      = "Mcp-Name"
)

const (
	methodInitialize = "initialize"
	methodListen     = "subscriptions/listen"
)

// post handles a message.
func (s *Server) post(w http.ResponseWriter, r *http.Request, by access) {
	s.begin()
	defer s.done()
	m, release := s.readMessage(w, r)
	if m == nil {
		return
	}
	if w = s.charge(w, r, by, m); w == nil {
		release()
		return
	}
	if m.ID() != nil || m.IsBatch() { // calls in flight may need notifications and responses, whatever the load
		if s.draining.Load() {
			release()
			refuseBusy(w, m.ID(), "the server is shutting down")
			return
		}
		select {
		case s.requests <- struct{}{}:
			body := release
			release = func() { body(); <-s.requests }
		default:
			release()
			s.refuseFull(w, m.ID(), "too many requests are handled at once")
			return
		}
	}
	if s.isModern(r.Header, m) {
		defer release()
		s.modern(w, r, by, m)
		return
	}
	session := s.sessionOf(w, r, by, m)
	if session == nil {
		release()
		return
	}
	defer session.leave()
	s.legacy(w, r, by, session, m, release)
}

// readMessage reads and parses the message of a POST. If it is invalid, it answers with an error, and returns nil. release must
// be called when the message is not used any more.
func (s *Server) readMessage(w http.ResponseWriter, r *http.Request) (m *gateway.Message, release func()) {
	if status, why := checkPost(r.Header); why != "" {
		refuse(w, status, why)
		return nil, nil
	}
	body, release, status, why := s.readBody(w, r)
	if why != "" {
		if status == http.StatusServiceUnavailable {
			s.refuseFull(w, nil, why)
		} else {
			refuse(w, status, why)
		}
		return nil, nil
	}
	m, invalid := gateway.ParseMessage(body)
	if invalid != nil {
		release()
		writeJSON(w, http.StatusBadRequest, *invalid)
		return nil, nil
	}
	return m, release
}

// checkPost checks the headers that every POST needs.
func checkPost(h http.Header) (status int, why string) {
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := parameters["charset"]
	encoded := func(encoding string) bool { return encoding != "" && !strings.EqualFold(encoding, "identity") }
	switch {
	case err != nil || len(h["Content-Type"]) > 1 || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8"):
		return http.StatusUnsupportedMediaType, "the Content-Type must be application/json"
	case slices.ContainsFunc(h["Content-Encoding"], encoded):
		return http.StatusUnsupportedMediaType, "the body must not be compressed"
	case !accepts(h, "application/json") || !accepts(h, "text/event-stream"):
		return http.StatusNotAcceptable, "the Accept header must list application/json and text/event-stream"
	}
	return 0, ""
}

// isModern reports whether a message belongs to the modern era: if its header or its body states such a version.
func (s *Server) isModern(h http.Header, m *gateway.Message) bool {
	version, _ := m.Version()
	return gateway.IsModern(version) || slices.ContainsFunc(h[headerVersion], gateway.IsModern)
}

// modern handles a message of the modern era, which has no sessions. The end of the connection cancels the call.
func (s *Server) modern(w http.ResponseWriter, r *http.Request, by access, m *gateway.Message) {
	if refusal := s.checkModern(r.Header, by.view, m); refusal != nil {
		writeJSON(w, statusOf(refusal), gateway.Response{ID: m.ID(), Err: refusal})
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.calls, func() { cancel(errStopped) })()
	if by.Held != nil {
		defer context.AfterFunc(by.Held, func() { cancel(errRevoked) })()
	}
	session := s.transport.OpenOne(by.view, by.Principal, by.Held)
	listens := m.Method() == methodListen
	if listens {
		select {
		case s.streams <- struct{}{}:
			defer func() { <-s.streams }()
		default:
			s.refuseFull(w, m.ID(), "too many streams are open")
			return
		}
		defer session.Close()
		defer by.atEnd(session.Close)()
		if s.canEnd(by.view) {
			defer context.AfterFunc(by.view.Ended(), session.Close)()
		}
	}
	st := newStream(0, &s.messages)
	st.sender = senderOf(r, "")
	reader := st.attach(0)
	defer st.detach(reader)
	rest := session.Handle(ctx, m, by.Principal, st)
	if TestHook != nil {
		TestHook(s.config.Gateway, m, func() {})
	}
	a := &answer{w: w, r: r, stream: st, reader: reader, modern: true}
	if listens {
		a.stopping, a.stop = s.stopping, session.Close
	}
	a.finish(rest)
}

// sessionOf returns the session of a message of the legacy era, which may open it. If there is none, it answers with an error,
// and returns nil.
func (s *Server) sessionOf(w http.ResponseWriter, r *http.Request, by access, m *gateway.Message) *session {
	switch {
	case !s.checkVersion(w, r, by.view, m.ID()):
		return nil
	case opens(m):
		return s.sessions.open(by)
	}
	return s.findSession(w, r, by, m.ID())
}

// checkVersion checks the header with the version of the legacy era, which may be absent.
func (s *Server) checkVersion(w http.ResponseWriter, r *http.Request, view *gateway.View, id []byte) bool {
	var err *abi.Error
	switch values := r.Header[headerVersion]; {
	case len(values) > 1:
		err = &abi.Error{Code: codeInvalidRequest, Message: "the header MCP-Protocol-Version is given twice"}
	case len(values) == 1 && values[0] != "":
		err = view.UnsupportedVersion(values[0])
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, gateway.Response{ID: id, Err: err})
	}
	return err == nil
}

// opens reports whether a message opens a session.
func opens(m *gateway.Message) bool { return m.Method() == methodInitialize && m.ID() != nil }

// legacy handles a message of a session. The call continues when the connection ends: release is called after both have ended.
func (s *Server) legacy(w http.ResponseWriter, r *http.Request, by access, session *session, m *gateway.Message, release func()) {
	ended := afterBoth(release)
	defer ended()
	st := session.newStream(&s.messages)
	st.sender = senderOf(r, session.digest)
	reader := st.attach(0)
	defer st.detach(reader)
	s.count(st, ended)
	rest := session.gateway.Handle(session.calls, m, by.Principal, st)
	if TestHook != nil {
		TestHook(s.config.Gateway, m, st.disconnect)
	}
	a := &answer{w: w, r: r, stream: st, reader: reader, session: session}
	if opens(m) {
		if version := session.gateway.Version(); version == "" { // initialize failed
			defer session.close()
		} else if !s.sessions.add(session, version, by) {
			session.close()
			s.refuseFull(w, m.ID(), "too many sessions are open")
			return
		} else {
			w.Header().Set(headerSession, session.id)
			s.log.Debug("a session was opened", "principal", session.owner)
		}
	}
	a.finish(rest)
}

// count counts a call until it ends, which may be after its connection. Then it calls ended.
func (s *Server) count(st *stream, ended func()) {
	s.begin()
	st.onEnd = func() {
		ended()
		s.done()
	}
}

// afterBoth returns a function whose second call calls f.
func afterBoth(f func()) func() {
	var calls atomic.Int32
	return func() {
		if calls.Add(1) == 2 {
			f()
		}
	}
}

// findSession returns the session that a request names. If there is none, it answers with an error, and returns nil.
func (s *Server) findSession(w http.ResponseWriter, r *http.Request, by access, id []byte) *session {
	values := r.Header[headerSession]
	if len(values) != 1 || values[0] == "" {
		writeJSON(w, http.StatusBadRequest, gateway.Response{ID: id, Err: &abi.Error{Code: codeInvalidRequest, Message: "the header Mcp-Session-Id is missing: send initialize first, or state protocol version " + gateway.ModernVersion + " in the request"}})
		return nil
	}
	found := s.sessions.find(values[0], by)
	if found == nil {
		s.report(r, RefusedSession, "there is no such session of its principal", by.Principal) // the id may be that of another principal
		writeJSON(w, http.StatusNotFound, gateway.Response{ID: id, Err: &abi.Error{Code: codeInvalidRequest, Message: "there is no session with this Mcp-Session-Id: send initialize without one"}})
	}
	return found
}
