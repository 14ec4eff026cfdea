package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// listing is a list that plugins answer at call time: all are asked side by side, and what they have comes
// in the order of the config.
type listing struct {
	gateway.Request
	host *Host
	kind listKind
	asks []*request // one for each plugin that has such a list
}

// listKind is one of the lists.
type listKind struct {
	member string // of the result
	key    string // of an item: what tells it from others
	mine   func(o *offered, p *plugin, key string) bool
}

var listKinds = map[string]listKind{
	abi.MethodPromptsList:            {"prompts", "name", (*offered).hasPrompt},
	abi.MethodResourcesList:          {"resources", "uri", (*offered).serves},
	abi.MethodResourcesTemplatesList: {"resourceTemplates", "uriTemplate", (*offered).serves},
}

// list queues a request for a list with every plugin that has one.
func (h *Host) list(r gateway.Request) gateway.Call {
	l := &listing{Request: r, host: h, kind: listKinds[r.Method]}
	plugins := h.offered.resources
	if r.Method == abi.MethodPromptsList {
		plugins = h.offered.prompts
	}
	// A cursor is the host's own: each plugin answers its whole list.
	r.Params = withoutCursor(r)
	for _, p := range plugins {
		l.asks = append(l.asks, p.ask(r, false))
	}
	return l
}

// Run implements gateway.Call. A plugin that fails is left out, unless all do.
func (l *listing) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	parts := make([]part, len(l.asks))
	errs := make([]error, len(l.asks))
	var all sync.WaitGroup
	for i, ask := range l.asks {
		all.Go(func() { parts[i], errs[i] = l.part(ctx, ask, n) })
	}
	all.Wait()
	failed := 0
	for i, err := range errs {
		if err != nil {
			failed++
			parts[i].items = nil
			l.asks[i].plugin.log.Warn("what the plugin has is missing in a list", "method", l.Method, "reason", fmt.Sprintf("%.1000s", err.Error()))
		}
	}
	if failed > 0 && failed == len(errs) {
		return nil, errs[0]
	}
	l.leaveDoubles(parts)
	return l.page(parts)
}

// part is what one plugin has.
type part struct {
	plugin string
	items  []item
}

// item is an entry of a list, and what tells it from others.
type item struct {
	key string
	raw []byte
}

// part asks one plugin, and keeps what is its own to offer.
func (l *listing) part(ctx context.Context, ask *request, n gateway.Notifier) (part, error) {
	p := part{plugin: ask.plugin.name}
	defer ask.Answered() // a list is answered in bounded pages, and waits for other plugins
	result, err := ask.Run(ctx, n)
	if err != nil {
		return p, err
	}
	list := rawjson.Member(result, l.kind.member)
	if rawjson.Kind(list) != '[' {
		return p, ask.Failure(gateway.FailureInvalidResult, fmt.Sprintf("gave a list that cannot be read: %s is not an array", l.kind.member))
	}
	for i, raw := range rawjson.Elements(list) {
		key, _ := rawjson.Unquote(rawjson.Member(raw, l.kind.key))
		why := checkItem(raw)
		if why == "" && key == "" {
			why = l.kind.key + " is missing"
		}
		switch {
		case why != "":
			return p, ask.Failure(gateway.FailureInvalidResult, fmt.Sprintf("gave a list that cannot be read: %s[%d]: %s", l.kind.member, i, why))
		case l.kind.mine(&l.host.offered, ask.plugin, key):
			p.items = append(p.items, item{key, raw})
		}
	}
	return p, nil
}

// leaveDoubles takes out what an earlier plugin has too: that one would be asked for it.
func (l *listing) leaveDoubles(parts []part) {
	owner := map[string]string{}
	for i, p := range parts {
		kept := p.items[:0]
		doubles, first := 0, ""
		for _, it := range p.items {
			if _, taken := owner[it.key]; taken {
				if doubles++; doubles == 1 {
					first = it.key
				}
				continue
			}
			owner[it.key] = p.plugin
			kept = append(kept, it)
		}
		parts[i].items = kept
		if doubles > 0 {
			l.asks[i].plugin.log.Warn("the plugin has what is listed already", "method", l.Method,
				"items", doubles, "first", fmt.Sprintf("%.128q", first), "of", owner[first])
		}
	}
}

// Failure implements gateway.Call.
func (l *listing) Failure(code, message string) *gateway.Failure {
	return &gateway.Failure{Code: code, Message: message}
}

// withoutCursor returns the parameters of a list without the cursor.
func withoutCursor(r gateway.Request) json.RawMessage {
	if r.Cursor == nil {
		return r.Params
	}
	return rawjson.Replace(r.Params, "cursor", nil)
}
