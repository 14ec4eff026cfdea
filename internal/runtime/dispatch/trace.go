package dispatch

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Trace has e send the spans of further requests; nil: none are sent. Only requests with an audit record have spans.
func (d *Dispatcher) Trace(e *traces.Exporter) { d.traces.Store(e) }

// begin prepares a request for metrics and traces, if there are any, and returns the identity of its span; nil if it is not traced.
func (d *Dispatcher) begin(r *call.Request) *traces.Identity {
	traced := d.traces.Load() != nil
	if !traced && d.metrics.Load() == nil {
		return nil
	}
	r.Times = &call.Times{}
	if !traced {
		return nil
	}
	span := traces.Begin(parentOf(r))
	r.Trace = span.Module()
	return span
}

// traceRefused sends the span of a request that was refused when it was found.
func (d *Dispatcher) traceRefused(r *call.Request, record *audit.Record) {
	if e := d.traces.Load(); e != nil {
		e.Add(traces.Begin(parentOf(r)).Refused(record, time.Now()))
	}
}

// parentOf returns the span that has caused a request; nil if none is known.
func parentOf(r *call.Request) *tracecontext.Context {
	if r.TraceParent != nil {
		return r.TraceParent
	}
	meta := rawjson.Member(r.Params, "_meta")
	parent, stated := rawjson.Unquote(rawjson.Member(meta, "traceparent"))
	if !stated {
		return nil
	}
	state, _ := rawjson.Unquote(rawjson.Member(meta, "tracestate"))
	if c, ok := tracecontext.Parse(parent, state); ok {
		return &c
	}
	return nil
}

// timed returns operate, which notes the times of operations.
func timed(operate worker.Operate, times *call.Times) worker.Operate {
	return func(ctx context.Context, o wire.Operation) wire.Reply {
		begin := time.Now()
		reply := operate(ctx, o)
		times.Perform(call.Performed{Op: o.Op, Begin: begin, End: time.Now()})
		return reply
	}
}
