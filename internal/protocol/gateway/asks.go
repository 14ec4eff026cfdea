package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	maxAsking            = 64       // calls of a session that wait for an answer of its client
	maxTransportAsking   = 256      // such calls of all sessions of a Transport
	maxTransportAskBytes = 64 << 20 // that they retain
)

// asking counts the calls of all sessions of a Transport that wait for an answer, so that clients that do not answer leave room
// for other requests.
type asking struct {
	mu    sync.Mutex
	calls int
	bytes int64
}

// add adds calls, and bytes that they retain. It returns false if they do not fit. A nil asking has no bounds.
func (a *asking) add(calls int, bytes int64) bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if calls > 0 && a.calls >= maxTransportAsking || bytes > 0 && a.calls > 0 && a.bytes+bytes > maxTransportAskBytes {
		return false
	}
	a.calls += calls
	a.bytes += bytes
	return true
}

// asks are the requests of the host to the client of a session that have no response yet.
type asks struct {
	maxBytes int64
	shared   *asking       // of the Transport; nil if there is none
	closed   chan struct{} // closed when no response can come any more

	mu      sync.Mutex
	last    int                 // number of the last request
	waiting map[string]*waiting // by the raw id of each request
	calls   int                 // that wait
	bytes   int64               // retained by the calls that wait: their requests, what they ask, and the answers
	ended   bool                // closed is closed
}

// waiting is a call that waits for its client.
type waiting struct {
	ids     []string                       // raw ids of the requests, in their order
	open    map[string]interaction.Request // without a response, by raw id; accessed by the call only
	replies chan *reply                    // has capacity for all
	bytes   int64                          // guarded by asks.mu
}

// reply is the response of a client to a request of the host. Its slices alias the line until deliver copies them.
type reply struct {
	id      []byte
	result  []byte // nil if failure is set
	failure []byte
	refused string // why the reply is not accepted; empty if it is
}

func newAsks(maxBytes int64) *asks {
	return &asks{maxBytes: maxBytes, closed: make(chan struct{}), waiting: map[string]*waiting{}}
}

// begin registers the requests of a call that retains "retained" bytes. why is the reason why it may not ask, or "". The
// caller must call end.
func (a *asks) begin(requests []interaction.Request, retained int64) (w *waiting, why string) {
	for _, r := range requests {
		retained += int64(len(r.Params))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.calls >= maxAsking:
		return nil, fmt.Sprintf("cannot ask the client, because %d other calls wait for its answers", a.calls)
	case a.calls > 0 && a.bytes+retained > a.maxBytes:
		return nil, fmt.Sprintf("cannot ask the client, because the calls that wait for its answers take more than %d bytes", a.maxBytes)
	case !a.shared.add(1, retained):
		return nil, "cannot ask the client, because too many calls of all clients wait for answers"
	}
	w = &waiting{open: map[string]interaction.Request{}, replies: make(chan *reply, len(requests)), bytes: retained}
	a.calls++
	a.bytes += retained
	for _, r := range requests {
		a.last++
		id := fmt.Sprintf(`"bulkhead-%d"`, a.last)
		w.ids, w.open[id], a.waiting[id] = append(w.ids, id), r, w
	}
	return w, ""
}

// end removes a call that does not wait any more.
func (a *asks) end(w *waiting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range w.ids {
		delete(a.waiting, id)
	}
	a.calls--
	a.bytes -= w.bytes
	a.shared.add(-1, -w.bytes)
}

// deliver passes a response to the call that waits for it. It ignores responses to nothing that was asked. It does not
// block: the reader calls it.
func (a *asks) deliver(r *reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.waiting[string(r.id)]
	if w == nil {
		return
	}
	delete(a.waiting, string(r.id))
	size := int64(len(r.result) + len(r.failure))
	copied := &reply{id: bytes.Clone(r.id), refused: r.refused}
	if copied.refused != "" {
		// deliver only the reason
	} else if size > abi.MaxAskAnswers || a.calls > 1 && a.bytes+size > a.maxBytes || !a.shared.add(0, size) {
		copied.refused = fmt.Sprintf("it has %d bytes, which is too much", size)
	} else {
		copied.result, copied.failure = bytes.Clone(r.result), bytes.Clone(r.failure)
		w.bytes, a.bytes = w.bytes+size, a.bytes+size
	}
	w.replies <- copied
}

// close ends the calls that wait.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.ended = true
		close(a.closed)
	}
}

// isClosed reports whether close was called.
func (a *asks) isClosed() bool {
	select {
	case <-a.closed:
		return true
	default:
		return false
	}
}

// answer returns the answer for a module; why says why it is invalid. Without a result it is the refusal of the client.
func (r *reply) answer(kind interaction.Kind) (answer json.RawMessage, why string) {
	if r.refused != "" {
		return nil, r.refused
	}
	if r.failure != nil {
		message, _ := rawjson.Unquote(rawjson.Member(r.failure, "message"))
		e := &abi.Error{Message: message}
		if json.Unmarshal(rawjson.Member(r.failure, "code"), &e.Code) != nil || rawjson.Kind(r.failure) != '{' {
			return nil, "its error has no code"
		}
		return interaction.Refusal(e), ""
	}
	return r.result, interaction.CheckAnswer(kind, r.result)
}
