//go:build unix

package tests

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// endlessCalls is a backend whose calls end only if they are cancelled. Each announces itself, as calls that write do.
type endlessCalls struct{ began, ended chan struct{} }

func (b endlessCalls) Find(call.Request) (gateway.Queued, *abi.Error) { return endlessCall{b}, nil }
func (endlessCalls) CanSubscribe(call.Request) bool                   { return false }
func (endlessCalls) ReportRefused(call.Request)                       {}

type endlessCall struct{ b endlessCalls }

func (c endlessCall) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	n.Announce(ctx)
	c.b.began <- struct{}{}
	<-ctx.Done()
	c.b.ended <- struct{}{}
	return call.Result{}, ctx.Err()
}

func (endlessCall) Failure(code, message string) *gateway.Failure {
	return &gateway.Failure{Code: code, Message: message}
}

// cuttable is connections that can be closed as the end of a process closes them.
type cuttable struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (l *cuttable) add(c net.Conn, err error) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

func (l *cuttable) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
}

// cuttableListener is a listener whose connections can be closed.
type cuttableListener struct {
	net.Listener
	accepted cuttable
}

func (l *cuttableListener) Accept() (net.Conn, error) { return l.accepted.add(l.Listener.Accept()) }

// endlessBehindProxy serves endlessCalls behind a proxy, as the tool "write". server and client are the connections of both.
func endlessBehindProxy(t *testing.T, name string) (b endlessCalls, base string, transport *http.Transport, server, client *cuttable) {
	t.Helper()
	b = endlessCalls{make(chan struct{}, 100), make(chan struct{}, 100)}
	g, err := gateway.New(gateway.Config{Name: "endless", Version: "1", Tools: []gateway.Tool{{Name: "write", Input: []byte(`{"type":"object"}`)}}}, b)
	if err != nil {
		t.Fatal(err)
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &cuttableListener{Listener: at}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	s := httpserver.New(httpserver.Config{Gateway: g, Hosts: []string{"mcp.example.com"}})
	go func() { served <- s.Serve(ctx, l, func() time.Duration { return 0 }) }()
	t.Cleanup(func() {
		stop()
		<-served
	})
	base, transport = startProxy(t, name, "http://"+at.Addr().String()+"/mcp")
	client = &cuttable{}
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return client.add(dial(ctx, network, address))
	}
	waitFor(t, "the server behind the proxy", func() bool {
		r, err := (&http.Client{Transport: transport}).Get(base + "/mcp")
		if err == nil {
			r.Body.Close()
		}
		return err == nil && r.StatusCode != http.StatusServiceUnavailable
	})
	return b, base, transport, &l.accepted, client
}

// TestProxiesRepeatNoCallThatWrites loses the server while it executes a call. HAProxy tells clients with HTTP/2 to repeat a request that has no answer yet,
// although the server may have executed it, and they do.
func TestProxiesRepeatNoCallThatWrites(t *testing.T) {
	t.Parallel()
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			b, base, transport, server, _ := endlessBehindProxy(t, name)
			go func() {
				<-b.began
				server.cut()
			}()
			client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
			if status, body, err := answerOf(client, callRequest(t, base+"/mcp", "write", "{}", "")); isResult(status, body) || len(b.began) > 0 {
				t.Errorf("the call was made %d times more, and answered with %d %s, %v", len(b.began), status, body, err)
			}
		})
	}
}

// TestProxiesPassCancellation ends the connection of a client that waits for a call, which cancels it before the proxy has anything to write to that connection.
func TestProxiesPassCancellation(t *testing.T) {
	t.Parallel()
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			b, base, transport, _, client := endlessBehindProxy(t, name)
			go func() {
				<-b.began
				client.cut()
			}()
			if _, _, err := answerOf(&http.Client{Transport: transport}, callRequest(t, base+"/mcp", "write", "{}", "")); err == nil {
				t.Error("the call was answered")
			}
			select {
			case <-b.ended:
			case <-time.After(10 * time.Second): // the server writes a comment after 15 s
				t.Error("the call was not cancelled")
			}
		})
	}
}
