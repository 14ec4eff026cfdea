package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// listing is a request for a list that plugins answer at call time: all are asked concurrently, and their parts are in the
// order of the config.
type listing struct {
	gateway.Request
	list     catalog.List
	requests []*request // one for each plugin that has such a list
}

// newListing queues a request for a list with every plugin that has one.
func (d *Dispatcher) newListing(r gateway.Request) gateway.Call {
	l := &listing{Request: r, list: d.catalog.List(r.Method)}
	// A cursor is the host's own: each plugin answers its complete list.
	r.Params = withoutCursor(r)
	for _, p := range l.list.Plugins() {
		l.requests = append(l.requests, d.plugins[p.Index].enqueue(r, false))
	}
	return l
}

// Run implements gateway.Call. A plugin that fails is left out, unless all do.
func (l *listing) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	parts := make([]catalog.Part, len(l.requests))
	errs := make([]error, len(l.requests))
	var all sync.WaitGroup
	for i, r := range l.requests {
		all.Go(func() { parts[i], errs[i] = l.part(ctx, r, n) })
	}
	all.Wait()
	failed := 0
	for i, err := range errs {
		if err != nil {
			failed++
			l.requests[i].plugin.Log.Warn("what the plugin has is missing in a list", "method", l.Method, "reason", fmt.Sprintf("%.1000s", err.Error()))
		}
	}
	if failed > 0 && failed == len(errs) {
		return nil, errs[0]
	}
	return l.list.Page(parts, l.Cursor)
}

// part asks one plugin. In case of an error the part is empty.
func (l *listing) part(ctx context.Context, r *request, n gateway.Notifier) (catalog.Part, error) {
	defer r.Answered() // a list is sent in bounded pages, and waits for other plugins
	result, err := r.Run(ctx, n)
	if err != nil {
		return catalog.Part{Plugin: r.plugin.Plugin}, err
	}
	part, invalid := l.list.Part(r.plugin.Plugin, result)
	if invalid != "" {
		return part, r.Failure(gateway.FailureInvalidResult, "gave a list that cannot be read: "+invalid)
	}
	return part, nil
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
