package httpserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// backend has these tools: echo returns its arguments as text, progress sends three notifications first, hold waits for
// release, write_hold announces that first, large returns a megabyte.
type backend struct {
	release   chan struct{} // each element ends one call of hold
	started   chan struct{}
	cancelled chan struct{}
	answered  chan struct{}
	requests  chan call.Request
}

func newBackend() *backend {
	return &backend{
		release: make(chan struct{}, 1000), started: make(chan struct{}, 1000), cancelled: make(chan struct{}, 1000),
		answered: make(chan struct{}, 1000), requests: make(chan call.Request, 1000),
	}
}

func (b *backend) Find(r call.Request) (gateway.Queued, *abi.Error) {
	select {
	case b.requests <- r:
	default:
	}
	if r.Name == "unknown" {
		return nil, gateway.Unknown(r.Method, r.Name, "")
	}
	return request{b, r}, nil
}

func (b *backend) CanSubscribe(call.Request) bool { return true }
func (b *backend) ReportRefused(call.Request)     {}

type request struct {
	b *backend
	r call.Request
}

func (c request) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	body, err := c.answer(ctx, n)
	return call.Result{Body: body}, err
}

func (c request) answer(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	text := string(c.r.Arguments)
	switch c.r.Name {
	case "progress", "progress_hold":
		for i := range 3 {
			if err := n.Notify(ctx, "notifications/progress", json.RawMessage(fmt.Sprintf(`{"progress":%d}`, i+1))); err != nil {
				return nil, err
			}
		}
	case "flood":
		for i := range 10_000 {
			if err := n.Notify(ctx, "notifications/progress", json.RawMessage(fmt.Sprintf(`{"progress":%d,"message":%q}`, i, strings.Repeat("x", 1000)))); err != nil {
				return nil, err
			}
		}
	case "update":
		if err := n.Notify(ctx, "notifications/resources/updated", json.RawMessage(`{"uri":"note://1"}`)); err != nil {
			return nil, err
		}
	case "ask":
		if c.r.Interaction.Answers == nil {
			ask, err := interaction.Parse([]byte(`{"requests":{"name":{"method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`))
			if err != nil {
				return nil, err
			}
			return nil, &gateway.Ask{Ask: ask, PluginVersion: "fake", Timeout: time.Minute}
		}
		text = string(c.r.Interaction.Answers["name"])
	case "write_hold":
		n.Announce(ctx)
	case "large":
		text = strings.Repeat("x", 1<<20)
	}
	if strings.HasSuffix(c.r.Name, "hold") {
		c.b.started <- struct{}{}
		select {
		case <-c.b.release:
		case <-ctx.Done():
			c.b.cancelled <- struct{}{}
			return nil, ctx.Err()
		}
	}
	return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text)), nil
}

func (c request) Failure(code, message string) *gateway.Failure {
	return &gateway.Failure{Code: code, Message: message}
}

func (c request) ResponseWritten() { c.b.answered <- struct{}{} }

var tools = []gateway.Tool{
	{Name: "echo", Input: json.RawMessage(`{"type":"object"}`)},
	{Name: "region", Input: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"}}}`)},
}

var offers = gateway.Offers{ToolsChange: true, Resources: true, Subscribe: true}

// network is a listener whose connections are pipes, so that tests run with a fake clock.
type network struct {
	conns   chan net.Conn
	done    chan struct{}
	latency time.Duration // of what the server writes to connections that are made from now on
}

func newNetwork() *network { return &network{conns: make(chan net.Conn), done: make(chan struct{})} }

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	select {
	case <-n.done:
	default:
		close(n.done)
	}
	return nil
}

func (n *network) Addr() net.Addr { return loopback }

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8808}

// pipeConn is an end of a pipe with a loopback address.
type pipeConn struct {
	net.Conn
	local   net.Addr
	latency time.Duration
}

func (c pipeConn) Write(p []byte) (int, error) {
	time.Sleep(c.latency)
	return c.Conn.Write(p)
}

func (c pipeConn) LocalAddr() net.Addr  { return c.local }
func (c pipeConn) RemoteAddr() net.Addr { return loopback }

// dial returns a connection. It fails if the server does not accept any.
func (n *network) dial(local net.Addr) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.conns <- pipeConn{server, local, n.latency}:
		return client, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

// fixture is a running server.
type fixture struct {
	t       *testing.T
	b       *backend
	g       *gateway.Gateway
	s       *Server
	net     *network
	client  *http.Client
	stop    context.CancelFunc
	served  chan error
	address net.Addr
	base    string // of URLs
}

// run runs a test of a server in a synctest bubble.
func run(t *testing.T, config Config, test func(t *testing.T, f *fixture)) {
	t.Helper()
	runOver(t, config, nil, test)
}

// runOver is run over TLS, if the server's configuration is not nil.
func runOver(t *testing.T, config Config, encryption *tls.Config, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, b: newBackend(), net: newNetwork(), served: make(chan error, 1), address: loopback, base: "http://127.0.0.1:8808"}
		var err error
		f.g, err = gateway.New(gateway.Config{Name: "fake", Version: "1", Tools: tools, Offers: offers, Logging: true}, f.b)
		if err != nil {
			t.Fatal(err)
		}
		config.Gateway = f.g
		f.s = New(config)
		var ctx context.Context
		ctx, f.stop = context.WithCancel(t.Context())
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return f.net.dial(f.address) }}
		listener := net.Listener(f.net)
		if encryption != nil {
			f.base = "https://127.0.0.1:8808"
			listener = tls.NewListener(listener, encryption)
			transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{InsecureSkipVerify: true}, true
		}
		go func() { f.served <- f.s.Serve(ctx, listener, func() time.Duration { return time.Second }) }()
		f.client = &http.Client{Transport: transport}
		test(t, f)
		transport.CloseIdleConnections()
		f.stop()
		if err := <-f.served; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v", err)
		}
	})
}

// answered is a response whose body was read.
type answered struct {
	status int
	header http.Header
	body   string
}

// do sends a request. Headers are alternating names and values, which replace the usual ones; an empty value removes one.
func (f *fixture) send(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, f.base+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header[http.CanonicalHeaderKey(headers[i])] = append([]string(nil), strings.Split(headers[i+1], "\x00")...)
		}
	}
	return f.client.Do(r)
}

func (f *fixture) do(method, path, body string, headers ...string) answered {
	f.t.Helper()
	r, err := f.send(f.t.Context(), method, path, body, headers...)
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Errorf("the body: %v", err)
	}
	return answered{r.StatusCode, r.Header, string(data)}
}

func (f *fixture) post(body string, headers ...string) answered {
	f.t.Helper()
	return f.do(http.MethodPost, Path, body, headers...)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modern returns a request of the modern era and its headers. params end with a comma, unless they are empty.
func modern(method, name, params string) (body string, headers []string) {
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, modernMeta)
	headers = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	return body, headers
}

func modernCall(tool, arguments string) (body string, headers []string) {
	return modern("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s,`, tool, arguments))
}

func legacyCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":1}}}`, id, tool)
}

// open opens a session and returns its id.
func (f *fixture) open(version string, headers ...string) string {
	f.t.Helper()
	got := f.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, version), headers...)
	id := got.header.Get("Mcp-Session-Id")
	if got.status != http.StatusOK || len(id) < 32 {
		f.t.Fatalf("initialize: %+v", got)
	}
	return id
}

// want checks the status of an answer, and that its body contains a text.
func (a answered) want(t *testing.T, status int, text string) {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		t.Errorf("got status %d and %s, want %d and %s", a.status, a.body, status, text)
	}
}

// events reads the server-sent events of a stream.
type events struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Reader
}

func (f *fixture) stream(method, body string, headers ...string) *events {
	f.t.Helper()
	r, err := f.send(f.t.Context(), method, Path, body, headers...)
	if err != nil {
		f.t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" || r.Header.Get("X-Accel-Buffering") != "no" {
		data, _ := io.ReadAll(r.Body)
		f.t.Fatalf("no stream: %d %v %s", r.StatusCode, r.Header, data)
	}
	return &events{f.t, r.Body, bufio.NewReader(r.Body)}
}

// next returns the next event, which may be a comment; its id and data are empty at the end of the stream.
func (e *events) next() (id, data string) {
	e.t.Helper()
	for {
		line, err := e.in.ReadString('\n')
		switch {
		case err != nil:
			return "", ""
		case line == "\n":
			return id, data
		case strings.HasPrefix(line, "id: "):
			id = strings.TrimSpace(line[4:])
		case strings.HasPrefix(line, "data: "):
			data = strings.TrimSpace(line[6:])
		default:
			data = strings.TrimSpace(line)
		}
	}
}

func (e *events) want(id, text string) {
	e.t.Helper()
	gotID, data := e.next()
	if gotID != id || !strings.Contains(data, text) || text == "" && data != "" {
		e.t.Errorf("got event %q %q, want %q %q", gotID, data, id, text)
	}
}
