package worker

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
)

// stream is a connection whose other end sends data, and takes whatever is sent.
type stream struct{ io.Reader }

func (stream) Write(p []byte) (int, error) { return len(p), nil }

// FuzzConn: whatever a worker sends, each of its calls ends once, and none hangs.
func FuzzConn(f *testing.F) {
	for _, frames := range [][]wire.Frame{
		{{Type: wire.TypeResult, Call: 1}, {Type: wire.TypeResult, Call: 2}},
		{{Type: wire.TypeAsk, Call: 1, Payload: []byte("\x01x")}, {Type: wire.TypeResult, Call: 2, Payload: make([]byte, 17)}},
		{{Type: wire.TypeWrote, Call: 1}, {Type: wire.TypeLog, Payload: []byte(`{"t":"x"}`)}, {Type: wire.TypeRecord, Call: 2, Payload: []byte(`{}`)}},
		{{Type: wire.TypeResult, Call: 3, Payload: append(make([]byte, 17), "{}"...)}, {Type: wire.TypeResult, Call: 3, Payload: make([]byte, 17)}},
	} {
		var data bytes.Buffer
		w := wire.NewWriter(&data)
		for _, frame := range frames {
			if err := w.Write(frame.Type, frame.Call, frame.Payload); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(data.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := newConn(stream{bytes.NewReader(data)}, wire.Limits{Output: 1 << 16, LogSize: 1 << 10, Operations: 3, Ask: 1 << 16}, hclog.NewNullLogger())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				late := time.AfterFunc(time.Hour, func() {})
				defer late.Stop()
				p := &pending{ctx: t.Context(), late: late, end: time.Now().Add(time.Hour), record: func(wire.Record) {}, ask: func(context.Context, wire.Ask) wire.Reply { return wire.Reply{} }}
				result, err := c.call(p, wire.Call{Method: "m"})
				if err == nil && len(result.Body) > len(data) {
					t.Errorf("a body of %d bytes of %d", len(result.Body), len(data))
				}
			})
		}
		all.Wait()
		if _, err := c.call(&pending{ctx: t.Context(), late: time.AfterFunc(time.Hour, func() {})}, wire.Call{}); err == nil && c.closed == nil && len(data) == 0 {
			t.Error("a call of a connection that has ended gives a result")
		}
	})
}
