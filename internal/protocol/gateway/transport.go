package gateway

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/paramheader"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// ModernVersion is the first protocol version of the modern era, and MetaVersion the member of _meta that states the version.
const (
	ModernVersion = mcp.ProtocolVersion20260728
	MetaVersion   = mcp.MetaKeyProtocolVersion
)

// IsModern reports whether a protocol version belongs to the modern era.
func IsModern(version string) bool { return mcp.IsModernProtocol(version) }

// Message is what a client sends at once: a request, a notification, a response, or a batch of them.
type Message struct {
	body   []byte
	single *message // nil for a batch
}

// ParseMessage parses a message, which takes the memory of body while it is handled. If it is invalid, the second result is
// the response.
func ParseMessage(body []byte) (*Message, *Response) {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	body = bytes.Trim(body, " \t\r\n")
	if rawjson.Kind(body) == '[' && rawjson.Valid(body) && isBatch(body) {
		return &Message{body: body}, nil
	}
	if rawjson.Kind(body) != '{' {
		return nil, &Response{Err: notMessage(body)}
	}
	m, err := parse(body)
	m.size = cap(body)
	if err != nil {
		return nil, &Response{ID: m.id, Err: err}
	}
	return &Message{body: body, single: m}, nil
}

// Count returns the number of messages: 1, unless it is a batch.
func (m *Message) Count() (n int) {
	if m.single != nil {
		return 1
	}
	for range rawjson.Elements(m.body) {
		n++
	}
	return n
}

// Size returns the size of the message in bytes.
func (m *Message) Size() int64 { return int64(len(m.body)) }

// IsBatch reports whether the message is a batch; then all other methods return zero values.
func (m *Message) IsBatch() bool { return m.single == nil }

// IsResponse reports whether the message is the response to a request of the host.
func (m *Message) IsResponse() bool { return m.single != nil && m.single.method == "" }

// ID returns the raw id of a request; nil if the message is none.
func (m *Message) ID() []byte {
	if m.single == nil {
		return nil
	}
	return m.single.id
}

// Method returns the method of a request or notification.
func (m *Message) Method() string {
	if m.single == nil {
		return ""
	}
	return m.single.method
}

// Version returns the protocol version that _meta states. It returns false if _meta has no such member.
func (m *Message) Version() (string, bool) {
	if m.single == nil || m.single.params.meta.version == nil {
		return "", false
	}
	version, _ := rawjson.Unquote(m.single.params.meta.version)
	return version, true
}

// Name returns the name of the tool or prompt, the URI of the resource, or the id of the task, that a request is for. It returns false if the
// method has none, or the parameter is missing.
func (m *Message) Name() (string, bool) {
	if m.single == nil {
		return "", false
	}
	switch p := &m.single.params; methods[mcp.MCPMethod(m.Method())].name {
	case "name":
		return rawjson.Unquote(p.name)
	case "uri":
		return rawjson.Unquote(p.uri)
	case memberTaskID:
		return rawjson.Unquote(p.task)
	}
	return "", false
}

// Arguments returns the raw arguments of a request; nil if it has none.
func (m *Message) Arguments() []byte {
	if m.single == nil {
		return nil
	}
	return m.single.params.arguments
}

// HasName reports whether requests of a method have a name, URI or id of a task that HTTP clients repeat in a header.
func HasName(method string) bool {
	how := methods[mcp.MCPMethod(method)]
	return how.name != "" && !how.headless
}

// ParamHeaders returns the parameters that a call of a tool repeats in headers.
func (v *View) ParamHeaders(m *Message) []paramheader.Param {
	if m.Method() != string(mcp.MethodToolsCall) {
		return nil
	}
	name, _ := m.Name()
	return v.served.Load().params[name]
}

// UnsupportedVersion returns the error for a request with an unsupported protocol version; nil if it is supported.
func (v *View) UnsupportedVersion(version string) *abi.Error {
	now := v.served.Load()
	if slices.Contains(now.versions, version) {
		return nil
	}
	return now.unsupportedVersion(version)
}

// Transport makes the sessions of a transport that has many clients and delivers messages one at a time.
type Transport struct {
	g       *Gateway
	runners *runners
	lists   chan struct{}
	cost    atomic.Int64 // of the subscriptions of all sessions
	asking  asking
	tasks   taskRuns
}

// maxTransportLists bounds the lists that run, or are not written yet, in all sessions of a Transport.
const maxTransportLists = 32

// NewTransport returns a Transport, which has no goroutines left once ended has ended and all calls have ended. Tasks are cancelled with it.
func (g *Gateway) NewTransport(ended context.Context) *Transport {
	t := &Transport{
		g:       g,
		runners: &runners{work: make(chan func()), end: ended.Done()},
		lists:   make(chan struct{}, maxTransportLists),
	}
	t.tasks.ctx = ended
	return t
}

// WaitTasks waits until no task runs. No request may be handled meanwhile.
func (t *Transport) WaitTasks() { t.tasks.Wait() }

// Session is a session of a Transport. Its methods are safe for concurrent use.
type Session struct{ s *session }

// Open opens the session of a client of the view v that begins with initialize. If held is not nil, it ends when the client has no access any
// more. own takes the notifications that belong to no request.
func (t *Transport) Open(v *View, owner *call.Principal, held context.Context, own Peer) *Session {
	s := t.newSession(v, owner, held, own)
	t.g.register(s)
	return &Session{s}
}

// OpenOne opens the session of one request of the modern era, of a client of the view v. held is that of Open: when it ends, a task that the
// request has begun is cancelled.
func (t *Transport) OpenOne(v *View, owner *call.Principal, held context.Context) *Session {
	s := t.newSession(v, owner, held, nil)
	s.tasks = &t.tasks
	return &Session{s}
}

func (t *Transport) newSession(v *View, owner *call.Principal, held context.Context, own Peer) *session {
	s := newSession(v, owner, own)
	if held != nil {
		s.held = held
	}
	s.calls.refuses = true
	s.lists, s.runners, s.subscriptions.shared, s.asks.shared = t.lists, t.runners, &t.cost, &t.asking
	return s
}

// Handle handles a message. For each message, it calls Respond or Skip of "to" once, possibly after it has returned. ctx is
// the context of the calls that it starts. "by" is on whose behalf the message is sent: it has the ID of the session's owner. If it returns a function, that is the rest of the work, which the caller must call.
func (s *Session) Handle(ctx context.Context, m *Message, by *call.Principal, to Peer) (rest func()) {
	s.s.handling.Lock()
	defer s.s.handling.Unlock()
	s.s.by, s.s.from = by, call.Sender{}
	if remote, ok := to.(Remote); ok {
		s.s.from = remote.Sender()
	}
	if m.single == nil {
		s.s.batch(ctx, m.body, to)
		return nil
	}
	s.s.single = true
	s.s.parsed(ctx, m.single, to)
	rest, s.s.single, s.s.taken = s.s.taken, false, nil
	return rest
}

// Version returns the protocol version that initialize has negotiated; empty before.
func (s *Session) Version() string {
	s.s.handling.Lock()
	defer s.s.handling.Unlock()
	return s.s.version
}

// Close responds to the requests of open streams and refuses further calls. It ends calls that wait for an answer of the
// client, and no other calls in flight.
func (s *Session) Close() {
	s.s.calls.close()
	s.s.asks.close()
	s.s.subscriptions.close(s.s.view.served.Load().info)
	s.s.g.unregister(s.s)
}
