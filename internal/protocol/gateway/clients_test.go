//lint:file-ignore SA1019 the gateway also supports protocol versions whose logging is deprecated

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// realClient adapts the client of an MCP library.
type realClient interface {
	version() string
	list(ctx context.Context) ([]string, error)
	// call requests progress with the token "tok" and log messages from the level "warning" on, and returns the text of
	// the result.
	call(ctx context.Context, tool string) (string, error)
	close() error
}

// TestRealClients runs a session with the clients of mcp-go and of the official Go SDK for each way of version
// negotiation.
func TestRealClients(t *testing.T) {
	libraries := map[string]func(t *testing.T, in io.ReadCloser, out io.WriteCloser, version string, notes chan<- string) realClient{
		"mcp-go": connectMCPGo,
		"go-sdk": connectSDK,
	}
	ways := map[string]struct {
		server []string // versions that the server supports
		client string   // version that the client requests; if empty, its default
		want   string
	}{
		"server/discover selects 2026-07-28":  {nil, "", "2026-07-28"},
		"the client falls back to initialize": {[]string{"2024-11-05"}, "", "2024-11-05"},
		"the client begins with initialize":   {nil, "2025-06-18", "2025-06-18"},
		"the server selects an older version": {[]string{"2025-03-26", "2024-11-05"}, "2025-11-25", "2025-03-26"},
		"a modern server needs no handshake":  {[]string{"2026-07-28"}, "", "2026-07-28"},
	}
	for library, dial := range libraries {
		for way, test := range ways {
			t.Run(library+"/"+way, func(t *testing.T) {
				h := newHeld()
				started := make(chan struct{}, 1)
				b := newFake()
				b.tools["work"] = work
				b.tools["held"] = func(ctx context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error) {
					started <- struct{}{}
					return h.run(ctx, arguments, n)
				}
				object := json.RawMessage(`{"type":"object"}`)
				g := newGateway(t, Config{ProtocolVersions: test.server, Logging: true, Tools: []Tool{{Name: "work", Input: object}, {Name: "held", Input: object}}}, b)
				fromClient, toServer := io.Pipe()
				fromServer, toClient := io.Pipe()
				served := make(chan error, 1)
				go func() { served <- g.Serve(t.Context(), fromClient, toClient); toClient.Close() }()
				notes := make(chan string, 10)
				c := dial(t, fromServer, toServer, test.client, notes)
				if c.version() != test.want {
					t.Errorf("version %s, want %s", c.version(), test.want)
				}
				converse(t, c, h, started, notes)
				if err := c.close(); err != nil {
					t.Errorf("close: %v", err)
				}
				toServer.Close()
				if err := <-served; err != nil && !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("Serve: %v", err)
				}
			})
		}
	}
}

// work sends progress, a log message below the client's level and one above it.
func work(ctx context.Context, _ json.RawMessage, n Notifier) (json.RawMessage, error) {
	for _, note := range []struct{ method, params string }{
		{"notifications/progress", `{"progress":1,"total":2,"message":"half"}`},
		{"notifications/message", `{"level":"info","data":"unwanted"}`},
		{"notifications/message", `{"level":"error","data":"wanted"}`},
	} {
		if err := n.Notify(ctx, note.method, json.RawMessage(note.params)); err != nil {
			return nil, err
		}
	}
	return textResult("done"), nil
}

func converse(t *testing.T, c realClient, h *held, started <-chan struct{}, notes <-chan string) {
	names, err := c.list(t.Context())
	if diff := cmp.Diff([]string{"work", "held"}, names); err != nil || diff != "" {
		t.Errorf("list: %v (-want +got):\n%s", err, diff)
	}
	if text, err := c.call(t.Context(), "work"); err != nil || text != "done" {
		t.Errorf("work: %q, %v", text, err)
	}
	got := map[string]bool{<-notes: true, <-notes: true}
	if diff := cmp.Diff(map[string]bool{"progress tok 1/2 half": true, "error wanted": true}, got); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
	if _, err := c.call(t.Context(), "nope"); err == nil || !strings.Contains(err.Error(), "Unknown tool: nope") {
		t.Errorf("an unknown tool: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := c.call(ctx, "held"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	if err := <-h.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call ended with %v in the server", err)
	}
	if text, err := c.call(t.Context(), "work"); err != nil || text != "done" {
		t.Errorf("the call after it: %q, %v", text, err)
	}
	<-notes
	<-notes
}

// mcpGo is mcp-go's client.
type mcpGo struct{ *client.Client }

func connectMCPGo(t *testing.T, in io.ReadCloser, out io.WriteCloser, version string, notes chan<- string) realClient {
	c := client.NewClient(transport.NewIO(in, out, io.NopCloser(strings.NewReader(""))))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		switch p := n.Params.AdditionalFields; n.Method {
		case "notifications/progress":
			notes <- fmt.Sprintf("progress %v %v/%v %v", p["progressToken"], p["progress"], p["total"], p["message"])
		case "notifications/message":
			notes <- fmt.Sprintf("%v %v", p["level"], p["data"])
		default:
			notes <- n.Method
		}
	})
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = version
	request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	result, err := c.Initialize(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if result.ServerInfo.Name != "fake" || result.Capabilities.Tools == nil {
		t.Errorf("initialize: %+v", result)
	}
	level := mcp.SetLevelRequest{}
	level.Params.Level = mcp.LoggingLevelWarning
	if err := c.SetLevel(t.Context(), level); err != nil {
		t.Errorf("SetLevel: %v", err)
	}
	return mcpGo{c}
}

func (c mcpGo) version() string { return c.ProtocolVersion() }
func (c mcpGo) close() error    { return c.Close() }

func (c mcpGo) list(ctx context.Context) ([]string, error) {
	result, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c mcpGo) call(ctx context.Context, tool string) (string, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = tool
	request.Params.Meta = &mcp.Meta{ProgressToken: "tok"}
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	return result.Content[0].(mcp.TextContent).Text, nil
}

// sdkClient is the client of the official Go SDK.
type sdkClient struct{ *sdk.ClientSession }

func connectSDK(t *testing.T, in io.ReadCloser, out io.WriteCloser, version string, notes chan<- string) realClient {
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			notes <- fmt.Sprintf("progress %v %v/%v %v", r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message)
		},
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			notes <- fmt.Sprintf("%v %v", r.Params.Level, r.Params.Data)
		},
	})
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: in, Writer: out}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if result := session.InitializeResult(); result.ServerInfo.Name != "fake" || result.Capabilities.Tools == nil {
		t.Errorf("initialize: %+v", result)
	}
	if session.InitializeResult().ProtocolVersion < "2026-07-28" {
		if err := session.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "warning"}); err != nil {
			t.Errorf("SetLoggingLevel: %v", err)
		}
	}
	return sdkClient{session}
}

func (c sdkClient) version() string { return c.InitializeResult().ProtocolVersion }
func (c sdkClient) close() error    { return c.Close() }

func (c sdkClient) list(ctx context.Context) ([]string, error) {
	result, err := c.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c sdkClient) call(ctx context.Context, tool string) (string, error) {
	params := &sdk.CallToolParams{Name: tool, Meta: sdk.Meta{"progressToken": "tok", "io.modelcontextprotocol/logLevel": "warning"}}
	result, err := c.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	return result.Content[0].(*sdk.TextContent).Text, nil
}

func TestClientCanCallWhileItListens(t *testing.T) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	g := newGateway(t, Config{Tools: []Tool{{Name: "work", Input: json.RawMessage(`{}`)}}, Offers: Offers{ToolsChange: true}, Logging: true}, func() Backend {
		b := newFake()
		b.tools["work"] = work
		return b
	}())
	served := make(chan error, 1)
	go func() { served <- g.Serve(t.Context(), fromClient, toClient); toClient.Close() }()
	notes := make(chan string, 10)
	c := connectMCPGo(t, fromServer, toServer, "", notes).(mcpGo)
	ctx, cancel := context.WithCancel(t.Context())
	listened := make(chan error, 1)
	go func() { listened <- c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}) }()
	if note := <-notes; note != "notifications/subscriptions/acknowledged" {
		t.Errorf("the stream began with %s", note)
	}
	if text, err := c.call(t.Context(), "work"); err != nil || text != "done" {
		t.Errorf("work: %q, %v", text, err)
	}
	cancel()
	if err := <-listened; !errors.Is(err, context.Canceled) {
		t.Errorf("Listen: %v, want context.Canceled", err)
	}
	if err := c.close(); err != nil {
		t.Errorf("close: %v", err)
	}
	// If the client ended before its cancellation was sent, the stream is open, and its last response is not read.
	go func() { _, _ = io.Copy(io.Discard, fromServer) }()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
