package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// instantCall is a Queued request that does nothing, so that a benchmark measures the gateway only.
type instantCall struct {
	spyBackend
	result   json.RawMessage
	answered chan struct{}
}

func (c *instantCall) Find(call.Request) (Queued, *abi.Error) { return c, nil }
func (c *instantCall) Execute(context.Context, Notifier) (call.Result, error) {
	return call.Result{Body: c.result}, nil
}
func (c *instantCall) ResponseWritten() { c.answered <- struct{}{} }

// BenchmarkMessage measures a tools/call from its line to the written response.
func BenchmarkMessage(b *testing.B) {
	for name, arguments := range map[string]string{
		"200B":         `{"text":"` + strings.Repeat("x", 188) + `"}`,
		"10kB":         `{"text":"` + strings.Repeat("x", 10_000) + `"}`,
		"10kB-escapes": `{"text":"` + strings.Repeat(`a line of text\n\tand \"another\"`, 300) + `"}`,
		"10kB-objects": `{"list":[` + strings.Repeat(`{"name":"a","n":12,"ok":true},`, 330) + `null]}`,
	} {
		b.Run(name, func(b *testing.B) {
			line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":%s,"_meta":{"progressToken":7}}}`, arguments)
			c := &instantCall{result: textResult("done"), answered: make(chan struct{}, 1)}
			s, _ := newLineSession(newGateway(b, Config{Checked: true}, c).View, io.Discard, func(error) {})
			b.ReportAllocs()
			for b.Loop() {
				s.handle(b.Context(), b.Context(), b.Context(), line, false)
				<-c.answered
			}
		})
	}
}
