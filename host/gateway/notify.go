package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

const (
	methodProgress = "notifications/progress"
	methodMessage  = "notifications/message"
)

// notifier sends what a running call has to say, before its response: both go through one writer, and
// nothing is sent once close has returned.
type notifier struct {
	s       *session
	meta    requestMeta
	stopped atomic.Bool
	sending sync.Mutex // guards changes too
	changes changes
}

func newNotifier(s *session, meta requestMeta) *notifier { return &notifier{s: s, meta: meta} }

// Notify implements Notifier.
func (n *notifier) Notify(method string, params json.RawMessage) error {
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	if !json.Valid(params) || !utf8.Valid(params) || rawjson.Kind(params) != '{' {
		return fmt.Errorf("%s: params must be a JSON object", bounded(method))
	}
	if why := ambiguous(params, notificationMembers[method]); why != "" {
		return fmt.Errorf("%s: %s", bounded(method), why)
	}
	var wanted bool
	var err error
	switch method {
	case methodProgress:
		wanted, err = n.meta.token != nil, checkProgress(params)
		if wanted && err == nil {
			params = n.withToken(params)
		}
	case methodMessage:
		wanted, err = n.wantsMessage(params)
	default:
		n.sending.Lock()
		err = n.changes.add(method, params)
		n.sending.Unlock()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", bounded(method), err)
	}
	n.sending.Lock()
	defer n.sending.Unlock()
	if wanted && !n.stopped.Load() {
		n.s.out.put([]byte(`{"jsonrpc":"2.0","method":"`+method+`","params":`), oneLine(params), []byte(`}`))
	}
	return nil
}

// stop lets no more notifications out, without waiting for one that is on its way.
func (n *notifier) stop() { n.stopped.Store(true) }

// close does the same and waits, and tells everybody of what the call changed, also if it was stopped: what
// it changed before is changed.
func (n *notifier) close() {
	n.sending.Lock()
	n.stopped.Store(true)
	changed := n.changes
	n.changes = changes{}
	n.sending.Unlock()
	n.s.g.announce(n.s, changed)
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

// withToken puts the client's own progress token in: a module may have rounded its digits or written
// its characters another way.
func (n *notifier) withToken(params []byte) []byte {
	return rawjson.Replace(params, "progressToken", n.meta.token)
}

// wantsMessage says whether the client wants a log message. In the modern era the request names the
// least level, and none means no messages; before, the session has one.
func (n *notifier) wantsMessage(params []byte) (bool, error) {
	text, _ := rawjson.Unquote(rawjson.Member(params, "level"))
	level := mcp.LoggingLevel(text)
	if !level.ShouldSendTo(mcp.LoggingLevelDebug) {
		return false, fmt.Errorf("level %s is not one of debug, info, notice, warning, error, critical, alert, emergency", bounded(text))
	}
	if rawjson.Member(params, "data") == nil {
		return false, errors.New("data is missing")
	}
	if name := rawjson.Member(params, "logger"); name != nil && rawjson.Kind(name) != '"' {
		return false, errors.New("logger must be a string")
	}
	least := n.s.level.Load().(mcp.LoggingLevel)
	if n.meta.modern {
		least = mcp.LoggingLevel(n.meta.level)
	}
	return n.s.g.config.Logging && level.ShouldSendTo(least), nil
}

var _ Notifier = (*notifier)(nil)
