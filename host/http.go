package host

import (
	"context"
	"net"

	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/httpserver"
)

// HTTPOptions configure ServeHTTP.
type HTTPOptions struct {
	Address string // host and port to listen on
}

// ServeHTTP serves clients over Streamable HTTP until ctx ends, and compiles modules in the background. Then further requests
// are refused, while calls in flight may continue for Drain. It returns ctx's error at most 500 ms after that.
func (h *Host) ServeHTTP(ctx context.Context, o HTTPOptions) error {
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return discovery.UsageErrorf("--http: %w", err)
	}
	if at := listener.Addr().(*net.TCPAddr); !at.IP.IsLoopback() {
		_ = listener.Close()
		return discovery.UsageErrorf("--http: %s is not a loopback address", at)
	}
	warming, stop := context.WithCancel(ctx)
	defer stop()
	h.dispatcher.Warm(warming)
	server := httpserver.New(httpserver.Config{Gateway: h.gateway, Log: h.options.Log.Named("http")})
	h.options.Log.Info("serving MCP over HTTP", "url", "http://"+listener.Addr().String()+httpserver.Path)
	return server.Serve(ctx, listener, h.Drain)
}
