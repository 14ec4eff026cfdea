package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	maxURI           = 4 << 10 // bytes of a subscribed URI
	maxSubscriptions = 1024    // URIs of a session in the legacy era, or of one stream

	maxSubscriptionBytes = 1 << 20  // total cost of a session and its streams
	maxTransportBytes    = 16 << 20 // total cost of all sessions of a Transport
	subscriptionOverhead = 64       // bytes
)

// subscriptionCost returns the memory, in bytes, that counts for a subscribed URI.
func subscriptionCost(uri string) int { return len(uri) + subscriptionOverhead }

// subscriptions contains the changes that one session wants to be notified of. It is safe for concurrent use: calls of
// any session cause notifications.
type subscriptions struct {
	mu          sync.Mutex
	initialized bool
	declared    stream          // legacy: the list_changed notifications that initialize declared
	uris        map[string]bool // legacy: subscribed resources
	streams     []stream        // modern
	cost        int             // subscriptionCost of all URIs
	ended       bool
	shared      *atomic.Int64 // cost of all sessions of the Transport; nil if there is none
}

// stream is an open subscriptions/listen request and the notifications that it gets.
type stream struct {
	id        []byte
	to        Peer
	tools     bool // tools/list_changed
	prompts   bool // prompts/list_changed
	resources bool // resources/list_changed
	uris      []string
}

func (s stream) cost() (sum int) {
	for _, uri := range s.uris {
		sum += subscriptionCost(uri)
	}
	return sum
}

// charge adds to the cost. It returns false if the cost would be too large, or the session has ended.
func (subs *subscriptions) charge(cost int) bool {
	if cost > 0 && subs.ended || subs.cost+cost > maxSubscriptionBytes {
		return false
	}
	if subs.shared != nil && subs.shared.Add(int64(cost)) > maxTransportBytes && cost > 0 {
		subs.shared.Add(-int64(cost))
		return false
	}
	subs.cost += cost
	return true
}

// subscriptionsTooLarge refuses a subscription beyond maxSubscriptionBytes.
func subscriptionsTooLarge() *abi.Error {
	return invalidRequest(fmt.Sprintf("the subscriptions of this client would exceed %d bytes, or those of all clients %d bytes: close streams, or unsubscribe from some", maxSubscriptionBytes, maxTransportBytes))
}

// initialize starts the list_changed notifications of the legacy era. A session gets those that were declared to it.
func (subs *subscriptions) initialize(o Offers) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	subs.declared = stream{tools: o.ToolsChange, prompts: o.PromptsChange, resources: o.ResourcesChange}
	subs.initialized = true
}

// notify sends the notifications of changes that the session wants: to the streams, and otherwise to own.
func (subs *subscriptions) notify(own Peer, c changes) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if subs.initialized {
		if c.warning != nil {
			own.Put([]byte(`{"jsonrpc":"2.0","method":"`+methodMessage+`","params":`), c.warning, []byte(`}`))
		}
		subs.declared.notify(own, c, func(uri string) bool {
			for subscribed := range subs.uris {
				if covers(subscribed, uri) {
					return true
				}
			}
			return false
		})
	}
	for _, s := range subs.streams {
		s.notify(s.to, c, func(uri string) bool {
			return slices.ContainsFunc(s.uris, func(subscribed string) bool { return covers(subscribed, uri) })
		})
	}
}

func (s stream) notify(to Peer, c changes, isSubscribed func(uri string) bool) {
	if c.tools && s.tools {
		to.Put(changeNotification(mcp.MethodNotificationToolsListChanged, "", s.id))
	}
	if c.prompts && s.prompts {
		to.Put(changeNotification(mcp.MethodNotificationPromptsListChanged, "", s.id))
	}
	if c.resources && s.resources {
		to.Put(changeNotification(mcp.MethodNotificationResourcesListChanged, "", s.id))
	}
	for _, uri := range c.updated {
		if isSubscribed(uri) {
			to.Put(changeNotification(mcp.MethodNotificationResourceUpdated, uri, s.id))
		}
	}
}

// covers reports whether a subscription to a resource includes uri: the resource itself or one below it.
func covers(subscribed, uri string) bool {
	below, ok := strings.CutPrefix(uri, strings.TrimSuffix(subscribed, "/"))
	return uri == subscribed || ok && strings.HasPrefix(below, "/")
}

// subscribe handles resources/subscribe and resources/unsubscribe of the legacy era.
func (s *session) subscribe(m *message, to Peer) {
	uri, ok := rawjson.Unquote(m.params.uri)
	subs := &s.subscriptions
	subs.mu.Lock()
	defer subs.mu.Unlock()
	switch {
	case !ok || uri == "" || len(uri) > maxURI:
		putError(to, m.id, invalidParams(fmt.Sprintf("uri must be a string of 1 to %d bytes", maxURI)))
		return
	case m.method == string(mcp.MethodResourcesUnsubscribe):
		if subs.uris[uri] {
			subs.charge(-subscriptionCost(uri))
		}
		delete(subs.uris, uri)
	case !s.view.backend.CanSubscribe(call.Request{Method: m.method, Name: uri, Params: m.params.all, Client: s.client, Principal: s.by}):
		putError(to, m.id, Unknown(m.method, uri, ""))
		return
	case len(subs.uris) >= maxSubscriptions && !subs.uris[uri]:
		putError(to, m.id, invalidRequest(fmt.Sprintf("more than %d subscriptions: unsubscribe from some", maxSubscriptions)))
		return
	case !subs.uris[uri] && !subs.charge(subscriptionCost(uri)):
		putError(to, m.id, subscriptionsTooLarge())
		return
	case !subs.uris[uri]:
		if subs.uris == nil {
			subs.uris = map[string]bool{}
		}
		subs.uris[uri] = true
	}
	putResult(to, m.id, []byte(`{}`))
}

// listen opens a stream. The response to its request is sent when the session ends; there is none if the client
// cancels the stream.
func (s *session) listen(m *message, meta requestMeta, to Peer) {
	requested := rawjson.Member(m.params.all, "notifications")
	subs := &s.subscriptions
	subs.mu.Lock()
	defer subs.mu.Unlock()
	switch {
	case rawjson.Kind(requested) != '{':
		putError(to, m.id, invalidParams("notifications must be an object"))
		return
	case subs.index(m.id) >= 0:
		putError(to, m.id, streamIDInUse())
		return
	case s.calls.isPending(m.id):
		putError(to, m.id, callIDInUse())
		return
	case len(subs.streams) >= s.g.maxInFlight:
		putError(to, m.id, &abi.Error{Code: abi.CodeInternal, Message: fmt.Sprintf("too many open streams (%d): cancel one first", len(subs.streams))})
		return
	}
	open, err := s.newStream(m, requested, meta)
	if err != nil {
		putError(to, m.id, err)
		return
	}
	if !subs.charge(open.cost()) {
		putError(to, m.id, subscriptionsTooLarge())
		return
	}
	open.to = to
	open.id = bytes.Clone(open.id) // so that it does not retain the whole line
	subs.streams = append(subs.streams, open)
	if s.own == nil {
		s.g.register(s) // the session of one request has no other use for notifications
	}
	to.Put(open.acknowledgement())
}

// newStream returns a stream with those of the requested notifications that the server offers.
func (s *session) newStream(m *message, requested []byte, meta requestMeta) (stream, *abi.Error) {
	o := meta.served.config.Offers
	wants := func(name string) bool { return string(bytes.TrimSpace(rawjson.Member(requested, name))) == "true" }
	open := stream{
		id:        m.id,
		tools:     o.ToolsChange && wants("toolsListChanged"),
		prompts:   o.PromptsChange && wants("promptsListChanged"),
		resources: o.ResourcesChange && wants("resourcesListChanged"),
	}
	// Changes of tasks are not sent: the acknowledgement has no taskIds, and clients poll.
	if o.Tasks && rawjson.Member(requested, "taskIds") != nil && !declaresTasks(m.params.meta.capabilities) {
		return open, needsTasks(m.method + " with taskIds")
	}
	uris := rawjson.Member(requested, "resourceSubscriptions")
	if uris == nil || !o.Subscribe {
		return open, nil
	}
	if rawjson.Kind(uris) != '[' {
		return open, invalidSubscriptions()
	}
	for i, value := range rawjson.Elements(uris) {
		uri, ok := rawjson.Unquote(value)
		if !ok || i == maxSubscriptions {
			return open, invalidSubscriptions()
		}
		if uri != "" && len(uri) <= maxURI && s.view.backend.CanSubscribe(call.Request{Method: m.method, Name: uri, Client: s.clientOf(meta), Principal: s.by}) {
			open.uris = append(open.uris, uri)
		}
	}
	return open, nil
}

func invalidSubscriptions() *abi.Error {
	return invalidParams(fmt.Sprintf("resourceSubscriptions must be at most %d strings", maxSubscriptions))
}

// acknowledgement encodes the notification that lists what a stream will get.
func (s stream) acknowledgement() []byte {
	var parts [][]byte
	if s.tools {
		parts = append(parts, []byte(`"toolsListChanged":true`))
	}
	if s.prompts {
		parts = append(parts, []byte(`"promptsListChanged":true`))
	}
	if s.resources {
		parts = append(parts, []byte(`"resourcesListChanged":true`))
	}
	if len(s.uris) > 0 {
		quoted := make([][]byte, len(s.uris))
		for i, uri := range s.uris {
			quoted[i] = rawjson.Quote(uri)
		}
		parts = append(parts, fmt.Appendf(nil, `"resourceSubscriptions":[%s]`, bytes.Join(quoted, []byte(","))))
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":{"notifications":{%s},"_meta":{"%s":%s}}}`,
		mcp.MethodNotificationSubscriptionsAcknowledged, bytes.Join(parts, []byte(",")), mcp.MetaKeySubscriptionID, s.id)
}

func (subs *subscriptions) index(id []byte) int {
	return slices.IndexFunc(subs.streams, func(open stream) bool { return bytes.Equal(open.id, id) })
}

// isOpen reports whether a stream with that id is open.
func (subs *subscriptions) isOpen(id []byte) bool {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	return subs.index(id) >= 0
}

// streamIDInUse refuses a request with the id of an open stream, whose response is still to be sent.
func streamIDInUse() *abi.Error { return invalidRequest("a stream with this id is still open") }

// cancel closes a stream without a response.
func (subs *subscriptions) cancel(id []byte) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if i := subs.index(id); i >= 0 {
		subs.charge(-subs.streams[i].cost())
		subs.streams[i].to.Skip()
		subs.streams = slices.Delete(subs.streams, i, i+1)
	}
}

// close responds to the requests of open streams. No notification is sent after that.
func (subs *subscriptions) close(info []byte) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	for _, open := range subs.streams {
		putResult(open.to, open.id, fmt.Appendf(nil, `{%s,"_meta":{"%s":%s,%s}}`, resultComplete, mcp.MetaKeySubscriptionID, open.id, info))
	}
	subs.charge(-subs.cost)
	subs.streams, subs.uris, subs.initialized, subs.ended = nil, nil, false, true
}
