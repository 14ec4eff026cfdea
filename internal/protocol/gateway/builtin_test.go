//lint:file-ignore SA1019 the gateway also supports protocol versions whose logging is deprecated

package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestBuiltinResponsesMatchLibrary compares responses with those of mcp-go's server byte by byte.
func TestBuiltinResponsesMatchLibrary(t *testing.T) {
	const instructions = "Use <search> & \"read\".\u2028"
	offers := map[string]struct {
		ours   Config
		theirs []server.ServerOption
	}{
		"tools": {Config{}, []server.ServerOption{server.WithToolCapabilities(false)}},
		"all": {
			Config{Tools: []Tool{{Name: "a", Input: json.RawMessage(`{}`)}}, Logging: true, Instructions: instructions,
				Offers: Offers{Prompts: true, PromptsChange: true, Resources: true, ResourcesChange: true, Subscribe: true, Completions: true}},
			[]server.ServerOption{server.WithToolCapabilities(false), server.WithLogging(), server.WithInstructions(instructions),
				server.WithPromptCapabilities(true), server.WithResourceCapabilities(true, true), server.WithCompletions()},
		},
		"resources": {Config{Offers: Offers{Resources: true}}, []server.ServerOption{server.WithResourceCapabilities(false, false)}},
	}
	for name, offer := range offers {
		t.Run(name, func(t *testing.T) {
			offer.ours.Name, offer.ours.Version = "a<b>", "1&2"
			g := newGateway(t, offer.ours, newFake())
			library := server.NewMCPServer("a<b>", "1&2", offer.theirs...)
			for _, method := range []string{"initialize", "ping", "server/discover", "logging/setLevel"} {
				for _, params := range builtinParams() {
					request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s"%s}`, method, params)
					want := libraryAnswer(t, library, request)
					var out outBuffer
					if err := g.Serve(t.Context(), strings.NewReader(request), &out); err != nil {
						t.Fatal(err)
					}
					got := strings.Join(out.lines(), "\n")
					if strings.Contains(want, `"code":-32601`) { // the gateway has one message for all unknown methods
						want = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: %s"}}`, method)
					}
					if got != want {
						t.Errorf("%s (-want +got):\n%s", request, cmp.Diff(want, got))
					}
				}
			}
		})
	}
}

// builtinParams are the params members of the requests; the first is absent.
func builtinParams() []string {
	params := []string{"", `{}`, `{"protocolVersion":5}`, `{"protocolVersion":null}`, `{"protocolVersion":"1999-01-01"}`, `{"protocolVersion":""}`,
		`{"protocolVersion":"2024-11-05","protocolVersion":"2025-06-18"}`, `{"capabilities":{"roots":5}}`, `{"capabilities":[]}`,
		`{"clientInfo":"x"}`, `{"clientInfo":{"name":{}}}`, `{"_meta":5}`, `{"_meta":{"a":1e400}}`, `{"level":"loud'<"}`, `{"level":5}`, `{"level":null}`}
	for _, version := range mcp.ValidProtocolVersions {
		params = append(params, `{"protocolVersion":"`+version+`","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`)
		for _, capabilities := range []string{`{}`, `{"roots":{"listChanged":true}}`, `{"roots":5}`, `{"roots":5,"roots":{}}`, `{"Sampling":[]}`} {
			params = append(params, `{"level":"debug","_meta":{"`+mcp.MetaKeyProtocolVersion+`":"`+version+`","`+mcp.MetaKeyClientCapabilities+`":`+capabilities+`}}`)
		}
	}
	for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		params = append(params, `{"level":"`+level+`"}`)
	}
	for i, p := range params[1:] {
		params[i+1] = `,"params":` + p
	}
	return params
}

// libraryAnswer returns the response of the library's server in the gateway's encoding.
func libraryAnswer(t *testing.T, library *server.MCPServer, request string) string {
	t.Helper()
	ctx := library.WithContext(t.Context(), &librarySession{})
	var out outBuffer
	to := newWriter(&out, nil, func() bool { return false })
	switch answer := library.HandleMessage(ctx, json.RawMessage(request)).(type) {
	case mcp.JSONRPCResponse:
		putResult(to, []byte("1"), mustJSON(t, answer.Result))
	case mcp.JSONRPCError:
		putError(to, []byte("1"), &abi.Error{Code: answer.Error.Code, Message: answer.Error.Message})
	default:
		t.Fatalf("%s: the library answers %T", request, answer)
	}
	return strings.Join(out.lines(), "\n")
}

// librarySession is a session of the library's server, which logging/setLevel requires.
type librarySession struct{ level mcp.LoggingLevel }

func (*librarySession) SessionID() string                                   { return "1" }
func (*librarySession) Initialize()                                         {}
func (*librarySession) Initialized() bool                                   { return true }
func (*librarySession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }
func (s *librarySession) SetLogLevel(level mcp.LoggingLevel)                { s.level = level }
func (s *librarySession) GetLogLevel() mcp.LoggingLevel                     { return s.level }
