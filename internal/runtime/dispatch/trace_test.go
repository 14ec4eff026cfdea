package dispatch

import (
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
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
