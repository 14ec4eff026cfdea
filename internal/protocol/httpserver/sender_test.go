package httpserver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
)

// TestTraceHeadersAreBounded reads the headers of Trace Context that hostile clients send, which are kept as long as a call.
func TestTraceHeadersAreBounded(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	full := strings.Repeat("x", tracecontext.MaxState)
	for name, c := range map[string]struct {
		header        http.Header
		parent, state string
	}{
		"none":                  {http.Header{}, "", ""},
		"both":                  {http.Header{"Traceparent": {parent}, "Tracestate": {"a=1,b=2"}}, parent, "a=1,b=2"},
		"state in two headers":  {http.Header{"Traceparent": {parent}, "Tracestate": {"a=1", "b=2"}}, parent, "a=1,b=2"},
		"state without parent":  {http.Header{"Tracestate": {"a=1"}}, "", ""},
		"two parents":           {http.Header{"Traceparent": {parent, parent}, "Tracestate": {"a=1"}}, "", ""},
		"long parent":           {http.Header{"Traceparent": {parent + strings.Repeat("x", 200)}}, "", ""},
		"longest state":         {http.Header{"Traceparent": {parent}, "Tracestate": {full}}, parent, full},
		"long state":            {http.Header{"Traceparent": {parent}, "Tracestate": {full + "x"}}, parent, ""},
		"long state, in halves": {http.Header{"Traceparent": {parent}, "Tracestate": {full[1:], ""}}, parent, full[1:] + ","},
		"many states":           {http.Header{"Traceparent": {parent}, "Tracestate": make([]string, 600)}, parent, ""},
	} {
		got := senderOf(&http.Request{Header: c.header, RemoteAddr: "192.0.2.1:5"}, "s")
		if want := (call.Sender{Address: "192.0.2.1", Session: "s", Traceparent: c.parent, Tracestate: c.state}); got != want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestSenderIsNotAllocated counts what a request costs without headers of Trace Context.
func TestSenderIsNotAllocated(t *testing.T) {
	r := &http.Request{RemoteAddr: "192.0.2.1:5"}
	var st stream
	if n := testing.AllocsPerRun(100, func() { st.sender = senderOf(r, "s") }); n != 0 || st.Sender().Address != "192.0.2.1" {
		t.Errorf("%v allocations for %+v", n, st.Sender())
	}
}
