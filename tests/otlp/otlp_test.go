package otlp

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestCollectorDecodesSpans compares spans with what OpenTelemetry's collector reads of them, also when their texts are hostile.
func TestCollectorDecodesSpans(t *testing.T) {
	received := make(chan ptrace.Traces, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(unpacked)
		if err != nil {
			t.Error(err)
		}
		request := ptraceotlp.NewExportRequest()
		if err := request.UnmarshalJSON(body); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		received <- request.Traces()
		answer, err := ptraceotlp.NewExportResponse().MarshalJSON()
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(answer)
	}))
	defer collector.Close()
	e := traces.New(traces.Config{To: collector.URL, Version: "1.2.3", Log: hclog.NewNullLogger()})
	c, ok := tracecontext.Parse(parent, "a=b")
	if !ok {
		t.Fatal("the parent is invalid")
	}
	identity := e.Begin(&c)
	identity.Version, identity.Session, identity.Status = "2025-11-25", "5e55", -32603
	at := time.Unix(1800000000, 123456789)
	after := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	const name = "a\"\\\x00\u202e<\xff"
	times := &call.Times{Queued: after(1), Started: after(2), Ready: after(3), Retried: after(4), Answered: after(9)}
	times.Perform(call.Performed{Op: "http/fetch", Begin: after(5), End: after(6), Code: "denied"})
	e.Add(identity.Call(&audit.Record{
		Time: at, Duration: 10 * time.Millisecond, Method: "tools/call", Tool: name, Outcome: audit.Failed, Code: "fuel", Fuel: 1 << 60, ID: "r", Request: []byte(`"7-a"`), Address: "192.0.2.1", Plugin: "p", Version: "1",
		Operations: []audit.Operation{{Op: "http/fetch", Outcome: audit.Denied, Count: 2}},
	}, times))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e.Close(ctx)
	if got := e.Stats(); got != (traces.Stats{Sent: 5}) {
		t.Errorf("%+v", got)
	}
	in := (<-received).ResourceSpans().At(0)
	if in.Resource().Attributes().AsRaw()["service.name"] != "bulkhead" || in.Resource().Attributes().AsRaw()["service.version"] != "1.2.3" {
		t.Errorf("%v", in.Resource().Attributes().AsRaw())
	}
	spans := in.ScopeSpans().At(0).Spans()
	request, module := spans.At(0), spans.At(3)
	switch {
	case request.TraceID().String() != c.Trace.String(), request.ParentSpanID().String() != hex.EncodeToString(c.Span[:]), request.TraceState().AsRaw() != "a=b", request.Flags() != 1:
		t.Errorf("the request's span has another place in the trace: %s %s", request.TraceID(), request.ParentSpanID())
	case request.StartTimestamp().AsTime().Sub(at) != 0, request.EndTimestamp().AsTime().Sub(at) != 10*time.Millisecond:
		t.Errorf("from %s to %s", request.StartTimestamp(), request.EndTimestamp())
	case request.Kind() != ptrace.SpanKindServer, request.Status().Code() != ptrace.StatusCodeError, request.Attributes().AsRaw()["error.type"] != "fuel":
		t.Errorf("%s %s %v", request.Kind(), request.Status().Code(), request.Attributes().AsRaw())
	case request.Attributes().AsRaw()["gen_ai.tool.name"] != "a\"\\\x00\u202e<", request.Name() != "tools/call a\"\\\x00\u202e<":
		t.Errorf("%q", request.Name())
	case request.Attributes().AsRaw()["mcp.protocol.version"] != "2025-11-25", request.Attributes().AsRaw()["mcp.session.id"] != "5e55", request.Attributes().AsRaw()["jsonrpc.request.id"] != "7-a",
		request.Attributes().AsRaw()["rpc.response.status_code"] != "-32603", request.Attributes().AsRaw()["network.transport"] != "tcp":
		t.Errorf("%v", request.Attributes().AsRaw())
	case module.Name() != "module", module.ParentSpanID() != request.SpanID(), module.Kind() != ptrace.SpanKindInternal, module.Events().Len() != 1, module.Events().At(0).Timestamp().AsTime().Sub(at) != 4*time.Millisecond:
		t.Errorf("the module's span: %s %s %d", module.Name(), module.Kind(), module.Events().Len())
	case module.Attributes().AsRaw()["bulkhead.fuel"] != int64(1<<60), module.Attributes().AsRaw()["bulkhead.operations.denied"] != int64(2):
		t.Errorf("%v", module.Attributes().AsRaw())
	case spans.At(4).Status().Code() != ptrace.StatusCodeError, spans.At(4).Attributes().AsRaw()["error.type"] != "denied":
		t.Errorf("the span of the denied operation: %s %v", spans.At(4).Status().Code(), spans.At(4).Attributes().AsRaw())
	case spans.At(4).ParentSpanID() != module.SpanID(), spans.At(4).Name() != "http/fetch":
		t.Errorf("%s is not of the module", spans.At(4).Name())
	}
}
