// Package traces sends what requests do as spans to a collector, as OTLP over HTTP in JSON (https://opentelemetry.io/docs/specs/otlp/). Exporter.Begin
// makes the identity of a request's span before it runs, since the calls that it makes refer to that; Call makes the spans once it has ended, of
// its audit record and the moments of its phases, so that nothing is measured twice. An Exporter queues spans and sends them.
//
// Spans name no principal, no argument, no result, no path and no address: the audit log has these, under the ID that bulkhead.record.id states. Of
// what a client makes up they have the IDs of its trace and request, and its tracestate, in a few characters without a meaning elsewhere; and of
// what a module makes up the number of an error.
package traces

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
)

// Span is a span that has ended.
type Span struct {
	tracecontext.Context
	Parent     tracecontext.SpanID // zero: it has none
	Name       string
	Server     bool // whether it is a request of a client; else it is a part of one
	Begin, End time.Time
	Attributes []Attribute
	Events     []Event
	ErrorType  string // what has failed, in a word; empty: nothing
	Dropped    int    // parts that have no spans, because there were too many
}

// Attribute is an attribute of a span. Its value is Text, or Number if Text is empty.
type Attribute struct {
	Key, Text string
	Number    int64
}

// Event is something that has happened at a moment of a span.
type Event struct {
	Name string
	At   time.Time
}

// Identity is the identity of a request's span, and of its parts, with what its audit record does not have.
type Identity struct {
	tracecontext.Context
	Version string // of the protocol
	Session string // the client's, as call.Sender has it
	Prompt  string // a prompt that a manifest names
	Status  int    // code of the JSON-RPC error that the client gets; 0: it gets none
	Part    bool   // the request is made for another one: by a script, or to one of several plugins

	parent tracecontext.SpanID // zero: the trace begins here
	module tracecontext.SpanID
}

// Begin returns an Identity for a request with that parent; nil: it has none. A parent decides whether the request is sampled, too; without one a part of
// them is. These are the samplers ParentBased and TraceIDRatioBased of OpenTelemetry.
func (e *Exporter) Begin(parent *tracecontext.Context) *Identity {
	i := &Identity{module: newSpanID()}
	if parent != nil {
		i.Context, i.parent = *parent, parent.Span
	} else {
		i.Sampled = e.config.Sample >= 1 || rand.Float64() < e.config.Sample
		binary.BigEndian.PutUint64(i.Trace[:8], nonZero())
		binary.BigEndian.PutUint64(i.Trace[8:], nonZero())
	}
	i.Span = newSpanID()
	return i
}

// Module returns the position in the trace of the calls that the request's module makes.
func (i *Identity) Module() *tracecontext.Context {
	c := i.Context
	c.Span = i.module
	return &c
}

func newSpanID() (id tracecontext.SpanID) {
	binary.BigEndian.PutUint64(id[:], nonZero())
	return id
}

// nonZero returns a random number: IDs are no secrets, but must be unique.
func nonZero() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}
