package gateway

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxUpdated bounds the updated resources of one call; beyond that, clients are notified that the list changed.
const maxUpdated = 256

// changes are those changes, made by a call or by Apply, that all clients are notified of.
type changes struct {
	tools     bool     // the list of tools changed
	prompts   bool     // the list of prompts changed
	resources bool     // the list of resources changed
	updated   []string // URIs of updated resources, without duplicates, in order
	warning   []byte   // parameters of a log message; nil: none
}

// add records the change that a notification reports.
func (c *changes) add(method string, params []byte) error {
	switch method {
	case mcp.MethodNotificationPromptsListChanged:
		c.prompts = true
	case mcp.MethodNotificationResourcesListChanged:
		c.resources = true
	case mcp.MethodNotificationResourceUpdated:
		uri, ok := rawjson.Unquote(rawjson.Member(params, "uri"))
		if !ok || uri == "" || len(uri) > maxURI {
			return fmt.Errorf("uri must be a string of 1 to %d bytes", maxURI)
		}
		c.merge(changes{updated: []string{uri}})
	default:
		return errors.New("a call may send only the notifications progress, message, list_changed and updated")
	}
	return nil
}

func (c *changes) isEmpty() bool {
	return !c.tools && !c.prompts && !c.resources && len(c.updated) == 0 && c.warning == nil
}

// merge adds the changes of another call.
func (c *changes) merge(other changes) {
	c.tools, c.prompts, c.resources = c.tools || other.tools, c.prompts || other.prompts, c.resources || other.resources
	if other.warning != nil {
		c.warning = other.warning // the latest one is still true
	}
	for _, uri := range other.updated {
		switch {
		case slices.Contains(c.updated, uri):
		case len(c.updated) == maxUpdated:
			c.resources = true
		default:
			c.updated = append(c.updated, uri)
		}
	}
}

// removeOwn removes the changes of what the call itself has requested. A client that is told of such a change makes the same request
// again, and would be told again.
func (c *changes) removeOwn(r *call.Request) {
	switch r.Method {
	case abi.MethodPromptsList:
		c.prompts = false
	case abi.MethodResourcesList, abi.MethodResourcesTemplatesList:
		c.resources = false
	case abi.MethodResourcesRead:
		c.updated = slices.DeleteFunc(c.updated, func(uri string) bool { return uri == r.Name })
	}
}

// announce notifies every session of the view of changes: the session of the call that made them, if any, synchronously, since it must
// get them before the response, the others asynchronously.
func (v *View) announce(from *session, c changes) {
	offers := v.served.Load().config.Offers
	c.tools = c.tools && offers.ToolsChange
	c.prompts = c.prompts && offers.PromptsChange
	c.resources = c.resources && offers.ResourcesChange
	if !offers.Subscribe {
		c.updated = nil
	}
	if c.isEmpty() {
		return
	}
	for _, s := range v.g.sessions() {
		switch {
		case s == from:
			s.mail.deliver(c, s.deliver)
		case s.view == v:
			s.mail.send(c, s.deliver)
		}
	}
}

// deliver sends the notifications of changes that the session wants.
func (s *session) deliver(c changes) { s.subscriptions.notify(s.own, c) }

// A plugin can cause any number of changes, and a client may react to each with further requests, which cause further changes. So the
// changes of a session are delivered one by one only up to deliverBurst; then those of a deliverInterval are merged.
const (
	deliverBurst    = 8
	deliverInterval = time.Second
)

// mailbox delivers changes to a session: asynchronously, so that a client that does not read does not block other sessions, and at a
// bounded rate. Pending changes are merged, which bounds their size.
type mailbox struct {
	mu         sync.Mutex
	pending    changes
	delivering bool      // drain runs, or is scheduled
	used       time.Time // until then, all deliveries would have taken a deliverInterval each
}

// deliver delivers changes synchronously, unless their delivery has to wait.
func (b *mailbox) deliver(c changes, deliver func(changes)) {
	b.mu.Lock()
	if b.delay() > 0 {
		b.mu.Unlock()
		b.send(c, deliver)
		return
	}
	b.used = b.used.Add(deliverInterval)
	b.mu.Unlock()
	deliver(c)
}

func (b *mailbox) send(c changes, deliver func(changes)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending.merge(c)
	if !b.delivering {
		b.delivering = true
		go b.drain(deliver)
	}
}

func (b *mailbox) drain(deliver func(changes)) {
	for {
		b.mu.Lock()
		c, wait := b.pending, b.delay()
		switch {
		case c.isEmpty():
			b.delivering = false
		case wait > 0:
			time.AfterFunc(wait, func() { b.drain(deliver) })
		default:
			b.pending, b.used = changes{}, b.used.Add(deliverInterval)
		}
		b.mu.Unlock()
		if c.isEmpty() || wait > 0 {
			return
		}
		deliver(c)
	}
}

// delay returns how long the next delivery has to wait.
func (b *mailbox) delay() time.Duration {
	now := time.Now()
	if b.used.Before(now) {
		b.used = now
	}
	return b.used.Sub(now) - (deliverBurst-1)*deliverInterval
}

// changeNotification encodes a notification of a change. stream is the id of its stream; nil in the legacy era.
func changeNotification(method string, uri string, stream []byte) []byte {
	params := ""
	if uri != "" {
		params = `"uri":` + string(rawjson.Quote(uri))
	}
	if stream != nil {
		if params != "" {
			params += ","
		}
		params += fmt.Sprintf(`"_meta":{"%s":%s}`, mcp.MetaKeySubscriptionID, stream)
	}
	if params != "" {
		params = fmt.Sprintf(`,"params":{%s}`, params)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s"%s}`, method, params)
}
