package dispatch

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// begin prepares a request for its observers, if there are any, and returns the identity of its span; nil if it is not traced.
func (v *view) begin(r *call.Request) *traces.Identity {
	o := v.observers()
	var span *traces.Identity
	if o.Traces != nil {
		span = v.identityOf(r, o.Traces)
		r.Trace = span.Module()
	}
	if o.Metrics != nil || o.State != nil || span != nil && span.Sampled {
		r.Times = &call.Times{}
	}
	return span
}

// whole executes a request that has no audit record itself, since it is answered by several plugins, or from the catalog. It has one span nevertheless, and its
// duration counts once. execute is given the parent of the spans of its parts, which may be nil.
func (v *view) whole(r *call.Request, execute func(parent *tracecontext.Context) (call.Result, error)) (call.Result, error) {
	o := v.observers()
	if o.Traces == nil && o.Metrics == nil {
		return execute(nil)
	}
	record := v.recordOf(r, nil)
	record.Time, record.BytesIn, record.Round = time.Now(), int64(len(r.Params)), r.Interaction.Round
	var span *traces.Identity
	var parent *tracecontext.Context
	if o.Traces != nil {
		span = v.identityOf(r, o.Traces)
		parent = &span.Context
	}
	result, err := execute(parent)
	record.Duration, record.BytesOut = time.Since(record.Time), int64(len(result.Body))
	record.Outcome, record.Code = outcome(result, err)
	v.observeOperation(r, &record, span, err)
	return result, err
}

// traceRefused sends the span of a request that was refused with err when it was found.
func (v *view) traceRefused(r *call.Request, record *audit.Record, err error) {
	if e := v.observers().Traces; e != nil {
		span := v.identityOf(r, e)
		span.Status = gateway.ErrorCode(r, err)
		e.Add(span.Refused(record, time.Now()))
	}
}

// identityOf returns the identity of a request's span.
func (v *view) identityOf(r *call.Request, e *traces.Exporter) *traces.Identity {
	span := e.Begin(parentOf(r))
	span.Version, span.Part = r.Version, r.TraceParent != nil
	if r.Method == abi.MethodPromptsGet && v.catalog.ClaimsPrompt(r.Name) {
		span.Prompt = r.Name
	}
	span.Session = r.Sender.Session
	return span
}

// parentOf returns the span that has caused a request; nil if none is known. What the request itself states takes precedence over the headers, which
// are those of a batch, or were added by a proxy.
func parentOf(r *call.Request) *tracecontext.Context {
	if r.TraceParent != nil {
		return r.TraceParent
	}
	meta := rawjson.Member(r.Params, "_meta")
	parent, _ := rawjson.Unquote(rawjson.Member(meta, "traceparent"))
	state, _ := rawjson.Unquote(rawjson.Member(meta, "tracestate"))
	if c, ok := tracecontext.Parse(parent, state); ok {
		return &c
	}
	if c, ok := tracecontext.Parse(r.Sender.Traceparent, r.Sender.Tracestate); ok {
		return &c
	}
	return nil
}

// timed returns operate, which notes the times and the outcome of operations.
func timed(operate worker.Operate, times *call.Times) worker.Operate {
	return func(ctx context.Context, o wire.Operation) wire.Reply {
		done := call.Performed{Op: o.Op, Begin: time.Now()}
		reply := operate(ctx, o)
		done.End = time.Now()
		if reply.Error != nil {
			done.Code = reply.Error.Code
		}
		times.Perform(done)
		return reply
	}
}
