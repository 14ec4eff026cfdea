package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func TestListKeepsOrderKeysAndCharacters(t *testing.T) {
	yes, no := true, false
	tools := []Tool{
		{
			Name: "z", Title: "A <b> & c", Description: "d\n\"e\"",
			Input:       json.RawMessage("{\n \"type\": \"object\", \"properties\": {\"z\": {\"default\": 1.0}, \"a\": {\"const\": \"<\"}}, \"$defs\": {}}"),
			Output:      json.RawMessage(`{"type":"object"}`),
			Meta:        json.RawMessage(`{"y":1,"x":2}`),
			Destructive: &yes, Idempotent: &no, OpenWorld: &yes,
		},
		{Name: "a", Input: json.RawMessage(`{"type":"object"}`), ReadOnly: true},
	}
	want := `"tools":[` +
		`{"name":"z","title":"A <b> & c","description":"d\n\"e\"",` +
		`"inputSchema":{"type":"object","properties":{"z":{"default":1.0},"a":{"const":"<"}},"$defs":{}},"outputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true},"_meta":{"y":1,"x":2}},` +
		`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
	got, err := newLists(tools, serverInfo("n", "v"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{"+want, string(got.legacy)); diff != "" {
		t.Errorf("legacy (-want +got):\n%s", diff)
	}
	modern := `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}},"ttlMs":0,"cacheScope":"private",` + want
	if diff := cmp.Diff(modern, string(got.modern)); diff != "" {
		t.Errorf("modern (-want +got):\n%s", diff)
	}
}

func TestIconsAreListedToClientsWhoseVersionHasThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, Config{Name: "n", Version: "v", Tools: []Tool{
			{Name: "a", Input: json.RawMessage(`{"type":"object"}`), Icon: Icon{URI: "data:x", Width: 48, Height: 32}},
			{Name: "b", Input: json.RawMessage(`{"type":"object"}`)},
		}}, nil)
		const icons = `"icons":[{"src":"data:x","mimeType":"image/png","sizes":["48x32"]}]`
		for version, want := range map[string]int{"": 0, "2024-11-05": 0, "2025-03-26": 0, "2025-06-18": 0, "2025-11-25": 1} {
			p := connect(t, g)
			if version != "" {
				p.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			}
			lines := p.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if got := strings.Count(strings.Join(lines, ""), icons); got != want || strings.Count(strings.Join(lines, ""), "icons") != want {
				t.Errorf("version %q: %q", version, lines)
			}
		}
		lines := connect(t, g).say(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28","` + mcp.MetaKeyClientCapabilities + `":{}}}}`)
		if strings.Count(strings.Join(lines, ""), icons) != 1 {
			t.Errorf("the modern era: %q", lines)
		}
	})
}

// TestModernListMatchesLibrary compares the result with the library's byte by byte.
func TestModernListMatchesLibrary(t *testing.T) {
	library := server.NewMCPServer("n", "v", server.WithToolCapabilities(false))
	request := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28","` + mcp.MetaKeyClientCapabilities + `":{}}}}`
	answer, ok := library.HandleMessage(context.Background(), json.RawMessage(request)).(mcp.JSONRPCResponse)
	if !ok {
		t.Fatal("the library does not list tools")
	}
	got, err := newLists(nil, serverInfo("n", "v"))
	if err != nil {
		t.Fatal(err)
	}
	match(t, string(got.modern), string(mustJSON(t, answer.Result)))
}

func TestNewReportsEveryProblem(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	_, err := New(Config{ProtocolVersions: []string{"2024-11-05", "1999-01-01"}, MaxLine: -1, MaxInFlight: -2}, newFake())
	want(t, err, `Config.Name and Config.Version are required`, `protocol version "1999-01-01" is not one of`, `MaxLine is negative: -1`, `MaxInFlight is negative: -2`)
	_, err = New(Config{Name: "n", Version: "v", Tools: []Tool{
		{Name: "a", Input: object}, {Name: "a", Input: object}, {Input: object},
		{Name: "b"}, {Name: "c", Input: json.RawMessage(`[]`)}, {Name: "d", Input: json.RawMessage(`{`)},
		{Name: "e", Input: object, Output: json.RawMessage(`1`), Meta: json.RawMessage(``)},
	}}, newFake())
	want(t, err, `tool 2: the name "a" is empty or a duplicate`, `tool 3: the name "" is empty or a duplicate`,
		`tool "b": inputSchema is not a JSON object`, `tool "c": inputSchema`, `tool "d": inputSchema`,
		`tool "e": outputSchema is not a JSON object`, `_meta is not a JSON object`)
}

func want(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error\n%v\nlacks %q", err, part)
		}
	}
}
