package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/results"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// failureNoResult is the code of a call that reads a result that is not kept for its client.
const failureNoResult = "unknown_result"

// resultSource is what the client was granted when it got a result that was shortened.
type resultSource struct {
	catalog *catalog.Catalog
	tool    *catalog.Tool
}

// isGranted reports whether clients of now may still have what they got then. A script has the results of other tools too, so its result is
// theirs as long as nothing has changed.
func (s resultSource) isGranted(now *catalog.Catalog) bool {
	if now == s.catalog {
		return true
	}
	tool := now.Tool(s.tool.Offered)
	return now.Key == s.catalog.Key && tool != nil && tool.Plugin.StillGrants(s.tool.Plugin, s.tool.Name) &&
		(!tool.Plugin.IsHost() || now.ServesSame(s.catalog))
}

// limit returns the most bytes of a result for clients of now, given the limit of then: the present one, if there is one, may be lower.
func (s resultSource) limit(now *catalog.Catalog, then int) int {
	if limit := now.Tool(s.tool.Offered).ResultLimit(); limit > 0 {
		return min(limit, then)
	}
	return then
}

// resultLimit returns the most bytes of the result of a call; 0: there is no limit.
func (q *queued) resultLimit() int {
	if !q.isForModel() {
		return 0
	}
	return q.tool.ResultLimit()
}

// errorLimit is like resultLimit for an error. An output schema does not matter, since an error need not match it.
func (q *queued) errorLimit() int {
	if !q.isForModel() {
		return 0
	}
	return int(q.tool.Plugin.Grant.Limits.Result)
}

// isForModel reports whether a model reads what the call of a tool returns, and not a script or a local program. That of a task is not bounded
// either, since it is kept longer than what is missing would be.
func (q *queued) isForModel() bool {
	return q.tool != nil && !q.Whole && q.Task == "" && q.Via != hosttool.Script
}

// shorten makes the result of a tool fit for the model of its client, and keeps what is missing. A limit of 0 is none.
func (q *queued) shorten(result call.Result, limit int) call.Result {
	if limit == 0 || len(result.Body) <= limit {
		return result
	}
	short := results.Shorten(result.Body, limit)
	if short == nil {
		return result
	}
	id := ""
	if short.IsTextMissing() {
		id = q.plugin.dispatcher.results.Keep(q.Principal.ID, q.Held, short.Text(), limit, resultSource{q.plugin.view.catalog, q.tool})
	}
	size := len(result.Body)
	result = result.WithBody(short.Body(id))
	result.ShortenedFrom = size
	return result
}

// shortenError makes an error that a plugin has returned instead of a result fit for the model of its client. Nothing of it is kept: a plugin returns
// long texts as results. A limit of 0 is none.
func shortenError(err error, limit int) error {
	own := (*abi.Error)(nil)
	if limit == 0 || !errors.As(err, &own) || len(own.Message)+len(own.Data) <= limit {
		return err
	}
	note := fmt.Sprintf(" [Shortened: the message has %d bytes, and the data, which is left out, %d.]", len(own.Message), len(own.Data))
	return &abi.Error{Code: own.Code, Message: visible.Truncate(own.Message, limit-len(note)-len("…")) + note}
}

// dropResults drops the results that the clients of a generation may not have.
func (d *Dispatcher) dropResults(g *generation) {
	d.results.Retain(func(k *results.Kept[resultSource]) bool {
		key := k.Source.catalog.Key
		v := g.view(key)
		if v == nil {
			return key.Dir != "" // the view of a single principal comes back with its next request
		}
		return k.Source.isGranted(v.catalog)
	})
}

// resultCall is a call that reads more of a result.
type resultCall struct {
	call.Request
	view *view
}

// Execute implements gateway.Queued.
func (r *resultCall) Execute(context.Context, gateway.Notifier) (call.Result, error) {
	part, err := r.view.catalog.HostTools().ResultRange(r.Arguments)
	kept, exists := r.view.generation.dispatcher.results.Find(r.Principal.ID, part.ID)
	if kept != nil && !kept.Source.isGranted(r.view.catalog) {
		kept = nil
	}
	if err == nil && kept == nil {
		code := catalog.Unknown
		if exists {
			code = catalog.NotGranted
		}
		failure := r.Failure(failureNoResult, "has no result with this id: it has expired or was dropped, or its tool is not granted any more; call the tool again")
		r.view.recordRefused(r.Request, nil, code, failure)
		return call.Result{}, failure
	}
	from := (*catalog.Plugin)(nil)
	if kept != nil {
		from = kept.Source.tool.Plugin
	}
	return recordable{r, &r.Request, r.view, from}.recorded(func(func(audit.Operation)) (call.Result, error) {
		body := []byte(nil)
		if err == nil {
			body, err = kept.Part(part.Offset, part.Length, kept.Source.limit(r.view.catalog, kept.Limit))
		}
		if err != nil {
			return call.Result{}, r.Failure(failureArguments, err.Error())
		}
		return call.Result{Body: body}, nil
	})
}

// Failure implements gateway.Queued.
func (r *resultCall) Failure(code, message string) *gateway.Failure {
	return hostFailure(r.Name, code, message)
}
