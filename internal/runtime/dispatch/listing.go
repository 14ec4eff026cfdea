package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// listing is a request for a list to which plugins contribute at call time. All plugins are asked concurrently. Their parts of the list
// are in the order of the config.
type listing struct {
	call.Request
	list     catalog.List
	requests []*queued // one request for each plugin that contributes to the list
	view     *view
}

// enqueueListing queues a request for a list with every plugin that contributes to it.
func (v *view) enqueueListing(r call.Request) gateway.Queued {
	l := &listing{Request: r, list: v.catalog.List(r.Method), view: v}
	// The plugins do not get the client's cursor: each plugin returns its complete list, and the host divides the merged list into pages.
	r.Params, r.Part = withoutCursor(r), true
	for _, p := range l.list.Plugins() {
		l.requests = append(l.requests, v.plugins[p.Index].enqueue(r, false))
	}
	return l
}

// Execute implements gateway.Queued.
func (l *listing) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	return l.view.whole(&l.Request, func(parent *tracecontext.Context) (call.Result, error) {
		for _, q := range l.requests {
			q.TraceParent = parent
		}
		return l.execute(ctx, n)
	})
}

// execute asks all plugins. If a plugin fails, the list lacks its items. If all plugins fail, the listing fails.
func (l *listing) execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	parts := make([]catalog.Part, len(l.requests))
	errs := make([]error, len(l.requests))
	var all sync.WaitGroup
	for i, q := range l.requests {
		all.Go(func() { parts[i], errs[i] = l.part(ctx, q, n) })
	}
	all.Wait()
	failed := 0
	for i, err := range errs {
		if err != nil {
			failed++
			l.requests[i].plugin.Log.Warn("a list lacks the items of the plugin", "method", l.Method, "reason", fmt.Sprintf("%.1000s", err.Error()))
		}
	}
	if failed > 0 && failed == len(errs) {
		return call.Result{}, errs[0]
	}
	if l.Method == abi.MethodResourcesList && l.view.catalog.HasSkills() {
		part, err := l.view.skillPart(ctx, l, &l.Request, skillResource)
		if err != nil {
			return call.Result{}, err
		}
		parts = append(parts, part)
	}
	page, err := l.list.Page(parts, l.Cursor)
	return call.Result{Body: page}, err
}

// part requests a plugin's part of the list. If the plugin fails, the part is empty.
func (l *listing) part(ctx context.Context, q *queued, n gateway.Notifier) (part catalog.Part, err error) {
	part.Plugin = q.plugin.Plugin
	defer guard.Recover(q.plugin.Log, "in a list", &err)
	defer q.ResponseWritten() // releases the slot of this plugin early: the list waits for other plugins, and its pages are bounded
	result, err := q.Execute(ctx, n)
	if err != nil {
		return catalog.Part{Plugin: q.plugin.Plugin}, err
	}
	part, invalid := l.list.Part(q.plugin.Plugin, result.Body)
	if invalid != "" {
		return part, q.Failure(gateway.FailureInvalidResult, "gave a list that cannot be read: "+invalid)
	}
	return part, nil
}

// Failure implements gateway.Queued.
func (l *listing) Failure(code, message string) *gateway.Failure {
	return &gateway.Failure{Code: code, Message: message}
}

// withoutCursor returns the parameters of a request for a list, without the cursor.
func withoutCursor(r call.Request) json.RawMessage {
	if r.Cursor == nil {
		return r.Params
	}
	return rawjson.Replace(r.Params, "cursor", nil)
}
