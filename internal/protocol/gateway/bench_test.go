package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// BenchmarkEcho measures one echo call through the gateway and through mcp-go's own stdio server, and
// reports the gateway's time as a share of the other (x-mcp-go; below 1 is faster).
func BenchmarkEcho(b *testing.B) {
	gateway := newGateway(b, Config{Tools: []Tool{{Name: "echo", Input: json.RawMessage(`{"type":"object"}`)}}},
		&fakeBackend{tools: map[string]toolFunc{"echo": echoText}})
	for name, size := range map[string]int{"small": 10, "1MB": 1 << 20} {
		for how, depth := range map[string]int{"one at a time": 1, "pipelined": 50} {
			b.Run(name+"/"+how, func(b *testing.B) {
				line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`+"\n", strings.Repeat("x", size))
				ours := timeEcho(b, line, depth, gateway.Serve)
				theirs := timeEcho(b, line, depth, server.NewStdioServer(nativeEcho()).Listen)
				b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "ns/op")
				b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N), "ns/op-mcp-go")
				b.ReportMetric(float64(ours)/float64(theirs), "x-mcp-go")
			})
		}
	}
}

func echoText(_ context.Context, arguments json.RawMessage, _ Notifier) (json.RawMessage, error) {
	var a struct{ Text string }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, err
	}
	return textResult(a.Text), nil
}

func nativeEcho() *server.MCPServer {
	s := server.NewMCPServer("native", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	return s
}

// timeEcho makes b.N calls, depth of them concurrently, and returns the total time.
func timeEcho(b *testing.B, line string, depth int, serve func(context.Context, io.Reader, io.Writer) error) time.Duration {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() { _ = serve(ctx, in, out); out.Close() }()
	defer toServer.Close()
	free := make(chan struct{}, depth)
	start := time.Now()
	go func() {
		for i := range b.N {
			free <- struct{}{}
			fmt.Fprintf(toServer, line, i)
		}
	}()
	answers := bufio.NewReaderSize(fromServer, 64<<10)
	for range b.N {
		for more := true; more; {
			_, err := answers.ReadSlice('\n')
			if err != nil && err != bufio.ErrBufferFull {
				b.Fatal(err)
			}
			more = err != nil
		}
		<-free
	}
	return time.Since(start)
}
