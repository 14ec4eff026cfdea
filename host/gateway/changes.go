package gateway

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

// maxUpdated bounds the resources that one call can say it changed; of more, clients hear that the list did.
const maxUpdated = 256

// changes are what a call changed for every client.
type changes struct {
	prompts   bool     // their list
	resources bool     // their list
	updated   []string // URIs of resources, each once, in their order
}

// add takes one of the notifications that tell of a change.
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
		return errors.New("a call sends only notifications of progress, of messages, and of what it changed")
	}
	return nil
}

func (c *changes) none() bool { return !c.prompts && !c.resources && len(c.updated) == 0 }

// merge adds what another call changed.
func (c *changes) merge(other changes) {
	c.prompts, c.resources = c.prompts || other.prompts, c.resources || other.resources
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

// announce tells every session of what a call of one of them changed: that one before the call is answered,
// the others without waiting for them.
func (g *Gateway) announce(from *session, c changes) {
	c.prompts = c.prompts && g.config.Offers.PromptsChange
	c.resources = c.resources && g.config.Offers.ResourcesChange
	if !g.config.Offers.Subscribe {
		c.updated = nil
	}
	if c.none() {
		return
	}
	g.mu.Lock()
	open := slices.Clone(g.open)
	g.mu.Unlock()
	for _, s := range open {
		if s == from {
			s.watch.tell(s.out, c)
		} else {
			s.mail.send(c, func(c changes) { s.watch.tell(s.out, c) })
		}
	}
}

// mailbox keeps what a session is yet to be told of, in one piece however much it is: a client that does
// not read holds up nobody else.
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
		b.delivering = !c.none()
		b.mu.Unlock()
		if c.none() {
			return
		}
		deliver(c)
	}
}

// changeNote is a notification of a change. stream is the id of the stream that it belongs to; nil: none.
func changeNote(method string, uri string, stream []byte) []byte {
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
