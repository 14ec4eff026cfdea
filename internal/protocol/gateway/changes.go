package gateway

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

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

// announce notifies every session of changes: the session of the call that made them, if any, synchronously, since it must
// get them before the response, the others asynchronously.
func (g *Gateway) announce(from *session, c changes) {
	offers := g.served.Load().config.Offers
	c.tools = c.tools && offers.ToolsChange
	c.prompts = c.prompts && offers.PromptsChange
	c.resources = c.resources && offers.ResourcesChange
	if !offers.Subscribe {
		c.updated = nil
	}
	if c.isEmpty() {
		return
	}
	for _, s := range g.sessions() {
		if s == from {
			s.deliver(c)
		} else {
			s.mail.send(c, s.deliver)
		}
	}
}

// deliver sends the notifications of changes that the session wants.
func (s *session) deliver(c changes) { s.subscriptions.notify(s.own, c) }

// mailbox delivers changes to a session asynchronously, so that a client that does not read does not block other
// sessions. Pending changes are merged, which bounds their size.
type mailbox struct {
	mu         sync.Mutex
	pending    changes
	delivering bool
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
		c := b.pending
		b.pending = changes{}
		b.delivering = !c.isEmpty()
		b.mu.Unlock()
		if c.isEmpty() {
			return
		}
		deliver(c)
	}
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
