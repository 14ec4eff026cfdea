package dispatch

import (
	"context"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestParentOfRequest states the parent of a request in several places, of which some are invalid.
func TestParentOfRequest(t *testing.T) {
	stated := func(n int) string { return fmt.Sprintf("00-%032d-%016d-01", n, n) }
	const invalid = "00-nothing-01"
	for name, c := range map[string]struct {
		meta, header string
		script       bool
		want         byte
	}{
		"no parent":                  {"", "", false, 0},
		"_meta":                      {stated(1), "", false, 1},
		"header":                     {"", stated(2), false, 2},
		"_meta wins over the header": {stated(1), stated(2), false, 1},
		"invalid _meta":              {invalid, stated(2), false, 2},
		"invalid header":             {stated(1), invalid, false, 1},
		"both invalid":               {invalid, invalid, false, 0},
		"call of a script":           {"", stated(2), true, 9},
	} {
		r := &call.Request{Params: []byte(`{}`)}
		if c.meta != "" {
			r.Params = fmt.Appendf(nil, `{"_meta":{"traceparent":%q,"tracestate":"a=%d"}}`, c.meta, 1)
		}
		if c.header != "" {
			r.Sender = call.Sender{Traceparent: c.header, Tracestate: "a=2"}
		}
		if c.script {
			r.TraceParent = &tracecontext.Context{Trace: tracecontext.TraceID{15: 9}}
		}
		got := parentOf(r)
		switch {
		case got == nil:
			if c.want != 0 {
				t.Errorf("%s: no parent", name)
			}
		case got.Trace != tracecontext.TraceID{15: c.want}, c.want < 9 && got.State != fmt.Sprint("a=", c.want):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTimesHaveOutcomeOfOperations performs operations that succeed, are denied and fail.
func TestTimesHaveOutcomeOfOperations(t *testing.T) {
	times := &call.Times{}
	for _, code := range []string{"", abi.HostDenied, abi.HostFailed} {
		reply := wire.Reply{}
		if code != "" {
			reply.Error = &abi.HostError{Code: code}
		}
		operate := timed(func(context.Context, wire.Operation) wire.Reply { return reply }, times)
		if got := operate(t.Context(), wire.Operation{Op: abi.OpHTTPFetch}); got.Error != reply.Error {
			t.Errorf("%q: the reply is changed to %+v", code, got)
		}
		all, _ := times.Performed()
		if last := all[len(all)-1]; last.Op != abi.OpHTTPFetch || last.Code != code || last.Begin.IsZero() || last.End.Before(last.Begin) {
			t.Errorf("%q: %+v", code, last)
		}
	}
}
