package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// session is one client. Messages are read and answered in order by one goroutine; only what the backend
// answers runs beside it.
type session struct {
	g     *Gateway
	out   *writer
	calls *inflight
	level atomic.Value // mcp.LoggingLevel, of log messages in the era of initialize
	watch watch
	mail  mailbox
	// handling is held while a line is answered, and its calls are started.
	handling sync.Mutex

	// Of the reader only.
	version string // what initialize agreed on; empty before
	client  string // who initialize came from; empty before
}

func newSession(g *Gateway, out io.Writer, broken func(error)) *session {
	s := &session{
		g:     g,
		out:   newWriter(out, broken),
		calls: newInflight(g.config.MaxInFlight, pendingLines*g.config.MaxLine),
	}
	s.level.Store(mcp.LoggingLevelInfo)
	return s
}

// read answers messages until in or reading ends; calls is the context of the calls it starts. An error is one
// of reading.
func (s *session) read(reading, calls context.Context, in io.Reader) error {
	for lines := newLineReader(in, s.g.config.MaxLine); ; {
		line, long, err := lines.next()
		if !s.handle(reading, calls, line, long) {
			return nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// handle answers one line; false if it was dropped, as no more are to be read.
func (s *session) handle(reading, calls context.Context, line []byte, long bool) bool {
	s.handling.Lock()
	defer s.handling.Unlock()
	if reading.Err() != nil {
		return false
	}
	switch {
	case long:
		putError(s.out, leadingID(line), invalidRequest(fmt.Sprintf("a message is longer than %d bytes", s.g.config.MaxLine)))
	case len(line) > 0:
		if !utf8.Valid(line) {
			line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
		}
		s.line(calls, line)
	}
	return true
}

// line answers one line that is not blank: a message or a batch of them.
func (s *session) line(ctx context.Context, line []byte) {
	switch kind := rawjson.Kind(line); {
	case kind == '{':
		s.message(ctx, line, cap(line), s.out)
	case !rawjson.Valid(line):
		putError(s.out, nil, parseError(line))
	case isBatch(line):
		s.batch(ctx, line)
	case kind == 'n':
		putError(s.out, nil, invalidRequest("a message is a JSON object"))
	default:
		putError(s.out, nil, parseError(line))
	}
}

// message answers one message, which keeps size bytes in memory while it is a call in flight.
func (s *session) message(ctx context.Context, object []byte, size int, to answers) {
	m, err := parse(object)
	m.size = size
	switch {
	case err != nil:
		putError(to, m.id, err)
	case m.id != nil:
		s.request(ctx, m, to)
	default: // a notification, or an answer to something never asked
		if m.method == string(mcp.MethodNotificationCancelled) {
			s.cancelled(m)
		}
		to.none()
	}
}

func (s *session) cancelled(m *message) {
	id := rawjson.Member(m.params.all, "requestId")
	s.calls.cancel(id)
	s.watch.cancel(id)
}

// request answers a request, or starts the call that will. A fault of ours is answered like any other
// failure and does not end the session.
func (s *session) request(ctx context.Context, m *message, to answers) {
	defer func() {
		if fault := recover(); fault != nil {
			s.g.log.Error("answering a request panicked", "method", m.method, "panic", fault, "stack", string(debug.Stack()))
			putError(to, m.id, &abi.Error{Code: abi.CodeInternal, Message: "internal error"})
		}
	}()
	if m.params.all != nil && rawjson.Kind(m.params.all) != '{' {
		putError(to, m.id, invalidParams("params must be an object"))
		return
	}
	meta, err := s.g.meta(m)
	_, batched := to.(*batch)
	how, ours := methods[mcp.MCPMethod(m.method)]
	switch {
	case err != nil:
		putError(to, m.id, err)
	case meta.modern && batched:
		putError(to, m.id, invalidRequest("this protocol version has no batches"))
	case ours && how.offered(s.g.config.Offers):
		s.call(ctx, m, meta, how, to)
	case m.method == string(mcp.MethodToolsList) && s.g.config.offersTools():
		s.list(m, meta, to)
	case ours, m.method == string(mcp.MethodToolsList):
		putError(to, m.id, methodNotFound(m.method))
	case m.method == string(mcp.MethodResourcesSubscribe), m.method == string(mcp.MethodResourcesUnsubscribe):
		if meta.modern || !s.g.config.Offers.Subscribe {
			putError(to, m.id, methodNotFound(m.method))
			return
		}
		s.subscribe(m, to)
	case m.method == string(mcp.MethodSubscriptionsListen) && meta.modern:
		s.listen(m, meta)
	default:
		result, err := s.builtin(m, meta)
		if err != nil {
			putError(to, m.id, err)
			return
		}
		putResult(to, m.id, result)
	}
}

// list answers tools/list, whose answer never changes. There is one page, so no cursor is one of ours.
func (s *session) list(m *message, meta requestMeta, to answers) {
	switch cursor, _ := rawjson.Unquote(m.params.cursor); {
	case cursor != "":
		putError(to, m.id, invalidParams("unknown cursor"))
	case meta.modern:
		putResult(to, m.id, s.g.lists.modern)
	default:
		putResult(to, m.id, s.g.lists.legacy)
	}
}
