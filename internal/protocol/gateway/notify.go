package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	methodProgress = "notifications/progress"
	methodMessage  = "notifications/message"
)

// notifier sends the notifications of a running call. They precede the call's response: nothing is sent after close has
// returned.
type notifier struct {
	s       *session
	request *call.Request
	meta    requestMeta
	to      Peer
	report  func(text string) // takes the text of a task's progress; nil if the call is no task
	stopped atomic.Bool
	sending lock // held while a notification is sent

	mu sync.Mutex
	// The following fields are guarded by mu.
	changes  changes
	others   map[*View]*changes // what clients of other views may know of the changes
	reached  float64            // highest progress that was sent
	repeated bool               // the call has asked its client, and runs again
}

func newNotifier(s *session, request *call.Request, meta requestMeta, to Peer) *notifier {
	return &notifier{s: s, request: request, meta: meta, to: to, sending: newLock()}
}

// Announce implements Notifier.
func (n *notifier) Announce(ctx context.Context) { announce(ctx, n.to) }

// announce begins the answer to a request, if its Peer can.
func announce(ctx context.Context, to Peer) {
	if to, ok := to.(Announcer); ok {
		to.Announce(ctx)
	}
}

// Notify implements Notifier.
func (n *notifier) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return n.NotifyOf(ctx, nil, method, params)
}

// NotifyOf implements Notifier.
func (n *notifier) NotifyOf(ctx context.Context, source Source, method string, params json.RawMessage) error {
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	if why := call.Normalize(params); why != "" {
		return fmt.Errorf("%s: params must be a JSON object: %s", visible.Name(method), why)
	}
	if why := ambiguous(params, notificationMembers[method]); why != "" {
		return fmt.Errorf("%s: %s", visible.Name(method), why)
	}
	var wanted bool
	var err error
	switch method {
	case methodProgress:
		wanted, err = n.meta.token != nil, checkProgress(params)
		if n.report != nil && err == nil {
			n.report(progressText(params))
		}
		if wanted && err == nil {
			wanted = n.advances(params)
			params = n.withToken(params)
		}
	case methodMessage:
		wanted, err = n.wantsMessage(params)
	default:
		err = n.change(source, method, params)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", visible.Name(method), err)
	}
	if !wanted {
		return nil
	}
	return n.send(ctx, []byte(`{"jsonrpc":"2.0","method":"`+method+`","params":`), withoutBreaks(params), []byte(`}`))
}

// change records a change for the clients of the call's view, and of those others that may know of it.
func (n *notifier) change(source Source, method string, params []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.changes.add(method, params); err != nil || source == nil {
		return err
	}
	uri, _ := rawjson.Unquote(rawjson.Member(params, "uri")) // add has validated it
	for _, v := range n.s.g.otherViews(n.s.view) {
		if !source.VisibleTo(v.backend, uri) {
			continue
		}
		if n.others[v] == nil {
			if n.others == nil {
				n.others = map[*View]*changes{}
			}
			n.others[v] = &changes{}
		}
		if err := n.others[v].add(method, params); err != nil {
			return err
		}
	}
	return nil
}

// send sends a notification. A Write cannot be interrupted, so it runs in a goroutine of its own, which may outlive ctx.
// There is at most one such goroutine for each ctx, even if a compromised worker sends many notifications.
func (n *notifier) send(ctx context.Context, message ...[]byte) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if !n.sending.acquire(n.to.Closed()) {
			return
		}
		defer n.sending.release()
		if !n.stopped.Load() {
			n.to.Put(message...)
		}
	}()
	select {
	case <-sent:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop drops all further notifications. It does not wait for one that is being sent.
func (n *notifier) stop() { n.stopped.Store(true) }

// close stops n, waits for a notification that is being sent, and announces the call's changes, which took
// effect even if the call failed or was cancelled.
func (n *notifier) close() {
	n.stop()
	if n.sending.acquire(n.to.Closed()) {
		n.sending.release()
	}
	n.announce()
}

// announce announces the changes so far.
func (n *notifier) announce() {
	n.mu.Lock()
	changed, others := n.changes, n.others
	n.changes, n.others = changes{}, nil
	n.mu.Unlock()
	changed.removeOwn(n.request)
	n.s.view.announce(n.s, changed)
	for v, c := range others {
		c.removeOwn(n.request)
		v.announce(nil, *c)
	}
}

// repeat prepares n for the next round of a call that asks its client: it announces the changes so far, and from now on drops
// progress that was reached in an earlier round, because MCP requires that progress increases.
func (n *notifier) repeat() {
	n.announce()
	n.mu.Lock()
	n.repeated = true
	n.mu.Unlock()
}

// advances reports whether progress may be sent.
func (n *notifier) advances(params []byte) bool {
	progress, _ := strconv.ParseFloat(string(rawjson.Member(params, "progress")), 64) // a valid number; an infinity if it is large
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.repeated && progress <= n.reached {
		return false
	}
	n.reached = max(n.reached, progress)
	return true
}

func checkProgress(params []byte) error {
	if rawjson.Kind(rawjson.Member(params, "progress")) != '0' {
		return errors.New("progress must be a number")
	}
	if total := rawjson.Member(params, "total"); total != nil && rawjson.Kind(total) != '0' {
		return errors.New("total must be a number")
	}
	if text := rawjson.Member(params, "message"); text != nil && rawjson.Kind(text) != '"' {
		return errors.New("message must be a string")
	}
	return nil
}

// withToken inserts the progress token with the client's bytes: a module may have rounded a number or escaped a
// string differently.
func (n *notifier) withToken(params []byte) []byte {
	return rawjson.Replace(params, "progressToken", n.meta.token)
}

// wantsMessage validates a log message and reports whether the client wants it. The minimum level is that of the session
// in the legacy era, and that of the request in the modern era; a modern request without a level gets no messages.
func (n *notifier) wantsMessage(params []byte) (bool, error) {
	text, _ := rawjson.Unquote(rawjson.Member(params, "level"))
	level := mcp.LoggingLevel(text)
	if !level.ShouldSendTo(mcp.LoggingLevelDebug) {
		return false, fmt.Errorf("level %s is not one of debug, info, notice, warning, error, critical, alert, emergency", visible.Name(text))
	}
	if rawjson.Member(params, "data") == nil {
		return false, errors.New("data is missing")
	}
	if name := rawjson.Member(params, "logger"); name != nil && rawjson.Kind(name) != '"' {
		return false, errors.New("logger must be a string")
	}
	minimum := n.s.level.Load().(mcp.LoggingLevel)
	if n.meta.modern {
		minimum = mcp.LoggingLevel(n.meta.level)
	}
	return n.meta.served.config.Logging && level.ShouldSendTo(minimum), nil
}

var _ Notifier = (*notifier)(nil)
