package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// session is the connection of one client. Messages are handled in order, one at a time; each call of the
// backend runs in a goroutine of its own.
type session struct {
	g       *Gateway
	view    *View
	own     Peer // takes the notifications that belong to no request
	calls   *inflight
	asks    *asks
	local   *Local // answers instead of messages; nil: messages do
	runners *runners
	tasks   *taskRuns       // nil: no call of the session runs as a task
	held    context.Context // ends when the client has no access any more, with which its tasks end and its results are dropped
	lists   chan struct{}   // a semaphore of running lists; see maxLists
	level   atomic.Value    // mcp.LoggingLevel: the minimum for legacy requests
	mail    mailbox

	subscriptions subscriptions
	batched       atomic.Int64 // bytes of the responses of unfinished batches

	handling sync.Mutex // held while a line is handled

	// Guarded by handling.
	from    call.Sender        // who has sent that message; the zero value if the transport does not know it
	by      *call.Principal    // on whose behalf the message is sent that is handled
	refuses bool               // the server is shutting down, so that requests are refused
	single  bool               // a single message is handled, whose call Handle returns
	taken   func()             // see Session.Handle
	version string             // negotiated by initialize; empty before
	client  string             // stated by initialize; empty before
	can     interaction.Client // what the client can be asked, as declared in initialize
}

func newSession(v *View, by *call.Principal, own Peer) *session {
	s := &session{
		g:     v.g,
		view:  v,
		by:    by,
		own:   own,
		calls: newInflight(v.g.maxInFlight, pendingLines*v.g.maxLine),
		asks:  newAsks(pendingLines * v.g.maxLine),
		held:  context.Background(),
	}
	s.level.Store(mcp.LoggingLevelInfo)
	return s
}

// newLineSession makes the session of a client that reads messages from out, one per line.
func newLineSession(v *View, out io.Writer, broken func(error)) (*session, *writer) {
	w := newWriter(out, broken, nil)
	s := newSession(v, LocalUser, w)
	w.several = s.calls.several
	s.lists = make(chan struct{}, maxLists)
	s.runners = &runners{work: make(chan func()), end: w.closed}
	return s, w
}

// read handles messages until in or reading ends; calls is the context of the calls that it starts. After serving has ended, requests are
// refused. The error is that of in.
func (s *session) read(reading, serving, calls context.Context, in io.Reader) error {
	for lines := newLineReader(in, s.g.maxLine); ; {
		line, long, err := lines.next()
		if !s.handle(reading, serving, calls, line, long) {
			return nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("cannot read from the client: %w", err)
		}
	}
}

// handle handles one line. It returns false if it dropped the line because reading has ended.
func (s *session) handle(reading, serving, calls context.Context, line []byte, long bool) bool {
	s.handling.Lock()
	defer s.handling.Unlock()
	if reading.Err() != nil {
		return false
	}
	s.refuses = serving.Err() != nil
	switch {
	case long:
		putError(s.own, leadingID(line), invalidRequest(fmt.Sprintf("a message is longer than %d bytes", s.g.maxLine)))
	case len(line) > 0:
		if !utf8.Valid(line) {
			line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
		}
		s.line(calls, line, s.own)
	}
	return true
}

// line handles a line that is not blank: a message or a batch.
func (s *session) line(ctx context.Context, line []byte, to Peer) {
	switch kind := rawjson.Kind(line); {
	case kind == '{':
		s.message(ctx, line, cap(line), to)
	case kind == '[' && rawjson.Valid(line) && isBatch(line):
		s.batch(ctx, line, to)
	default:
		putError(to, nil, notMessage(line))
	}
}

// message handles one message, which retains size bytes of memory while it is a call in flight.
func (s *session) message(ctx context.Context, object []byte, size int, to Peer) {
	m, err := parse(object)
	m.size = size
	if err != nil {
		putError(to, m.id, err)
		return
	}
	s.parsed(ctx, m, to)
}

func (s *session) parsed(ctx context.Context, m *message, to Peer) {
	if m.id != nil {
		s.request(ctx, m, to)
		return
	}
	switch {
	case m.reply != nil:
		s.asks.deliver(m.reply)
	case m.method == string(mcp.MethodNotificationCancelled):
		s.cancelled(m)
	}
	to.Skip()
}

func (s *session) cancelled(m *message) {
	id := rawjson.Member(m.params.all, "requestId")
	s.calls.cancel(id)
	s.subscriptions.cancel(id)
}

// request responds to a request or starts a call that will. A panic becomes an error response and does not end the
// session.
func (s *session) request(ctx context.Context, m *message, to Peer) {
	defer func() {
		if fault := recover(); fault != nil {
			putError(to, m.id, s.g.recovered("in the handling of a request", fault, "method", m.method))
		}
	}()
	if s.refuses {
		putError(to, m.id, &abi.Error{Code: codeServerError, Message: "The server is shutting down: the request was refused"})
		return
	}
	if m.params.all != nil && rawjson.Kind(m.params.all) != '{' {
		putError(to, m.id, invalidParams("params must be an object"))
		return
	}
	meta, err := s.view.served.Load().meta(m)
	_, batched := to.(*batch)
	how, known := methods[mcp.MCPMethod(m.method)]
	switch {
	case err != nil:
		putError(to, m.id, err)
	case meta.modern && batched:
		putError(to, m.id, invalidRequest("this protocol version does not support batches"))
	case known && how.offered(meta.served.config.Offers) && (meta.modern || !how.task):
		s.call(ctx, m, meta, how, to)
	case m.method == string(mcp.MethodToolsList) && meta.served.config.offersTools():
		s.list(m, meta, to)
	case known, m.method == string(mcp.MethodToolsList):
		s.reportRefused(m, meta, how)
		putError(to, m.id, methodNotFound(m.method))
	case m.method == string(mcp.MethodResourcesSubscribe), m.method == string(mcp.MethodResourcesUnsubscribe):
		if meta.modern || !meta.served.config.Offers.Subscribe {
			s.reportRefused(m, meta, method{name: "uri"})
			putError(to, m.id, methodNotFound(m.method))
			return
		}
		s.subscribe(m, to)
	case m.method == string(mcp.MethodSubscriptionsListen) && meta.modern && meta.served.config.Offers.changes():
		s.listen(m, meta, to)
	default:
		result, err := s.builtin(m, meta)
		if err != nil {
			putError(to, m.id, err)
			return
		}
		putResult(to, m.id, result)
	}
}

// list responds to tools/list. The list is constant and has one page, so every cursor is unknown.
func (s *session) list(m *message, meta requestMeta, to Peer) {
	switch cursor, _ := rawjson.Unquote(m.params.cursor); {
	case cursor != "":
		putError(to, m.id, invalidParams("unknown cursor"))
	case meta.modern:
		putResult(to, m.id, meta.served.lists.modern)
	case s.version >= iconsVersion: // versions are dates
		putResult(to, m.id, meta.served.lists.icons)
	default:
		putResult(to, m.id, meta.served.lists.legacy)
	}
}
