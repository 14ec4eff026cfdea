//go:build unix

package tests

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInvalidLinesAreAnsweredInOrder sends a ping after each invalid line. The answers must have the order of the lines.
func TestInvalidLinesAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	s := serveChant(t, newDir(t, map[string]string{".chant/specs/2026-03-01-001-a1b.md": specText("pending", "Water the trees")}))
	tests := []struct{ name, line, want string }{
		{"not JSON", `{invalid json}`, `{"id":null,"error":{"code":-32700,"message":"Parse error: invalid character 'i' looking for beginning of object key string at byte 2"}}`},
		{"a truncated object", `{`, `{"id":null,"error":{"code":-32700,"message":"Parse error: unexpected end of JSON input at byte 1"}}`},
		{"a number", `123`, `{"id":null,"error":{"code":-32700,"message":"Parse error: a message must be a JSON object"}}`},
		{"a string", `"string"`, `{"id":null,"error":{"code":-32700,"message":"Parse error: a message must be a JSON object"}}`},
		{"an array that is no batch", `["array"]`, `{"id":null,"error":{"code":-32700,"message":"Parse error: a message must be a JSON object"}}`},
		{"null", `null`, `{"id":null,"error":{"code":-32600,"message":"Invalid request: a message must be a JSON object"}}`},
		{"an object without a method", `{"jsonrpc":"2.0","id":1}`, `{"id":1,"error":{"code":-32600,"message":"Invalid request: method must be a string that is not empty"}}`},
		{"another version of JSON-RPC", `{"jsonrpc":"1.0","method":"test","id":1}`, `{"id":1,"error":{"code":-32600,"message":"Invalid JSON-RPC version"}}`},
		{"an id that is an object", `{"jsonrpc":"2.0","method":"ping","id":{}}`, `{"id":null,"error":{"code":-32600,"message":"Invalid request: id must be a string or a number"}}`},
		{"an unknown method", `{"jsonrpc":"2.0","method":"unknown/method","id":"a"}`, `{"id":"a","error":{"code":-32601,"message":"Method not found: unknown/method"}}`},
		{"a method that is not offered", `{"jsonrpc":"2.0","method":"resources/list","id":"a"}`, `{"id":"a","error":{"code":-32601,"message":"Method not found: resources/list"}}`},
		{"discovery, which 2024-11-05 does not have", `{"jsonrpc":"2.0","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}},"id":3}`, `{"id":3,"error":{"code":-32601,"message":"Method not found: server/discover"}}`},
		{"params that are an array", `{"jsonrpc":"2.0","method":"tools/call","params":[1],"id":2}`, `{"id":2,"error":{"code":-32602,"message":"Invalid params: params must be an object"}}`},
		{"no params", `{"jsonrpc":"2.0","method":"tools/call","id":2}`, `{"id":2,"error":{"code":-32602,"message":"Missing tool name"}}`},
		{"a name that is a number", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":7},"id":2}`, `{"id":2,"error":{"code":-32602,"message":"Missing tool name"}}`},
		{"an unknown tool", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"nope"},"id":2}`, `{"id":2,"error":{"code":-32602,"message":"Unknown tool: nope"}}`},
		{"a tool of another plugin", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"hello_greet"},"id":2}`, `{"id":2,"error":{"code":-32602,"message":"Unknown tool: hello_greet"}}`},
		{"a blank line", ` `, ``},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/nope"}`, ``},
		{"a call that is a notification", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"chant_cancel","arguments":{"id":"a1b"}}}`, ``},
		{"a call whose id is null", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"chant_cancel","arguments":{"id":"a1b"}},"id":null}`, ``},
		{"a response to no request", `{"jsonrpc":"2.0","id":5,"result":{}}`, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.send(test.line, `{"jsonrpc":"2.0","id":"behind","method":"ping"}`)
			if test.want != "" {
				want := decodeJSON(t, test.want).(map[string]any)
				want["jsonrpc"] = "2.0"
				if diff := cmp.Diff(any(want), decodeJSON(t, s.receive())); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			if diff := cmp.Diff(decodeJSON(t, `{"jsonrpc":"2.0","id":"behind","result":{}}`), decodeJSON(t, s.receive())); diff != "" {
				t.Fatalf("the following ping (-want +got)\n%s", diff)
			}
		})
	}
	if text := s.mustCall("chant_status", `{"brief":true}`); text != "1 pending" {
		t.Errorf("a call without an id had an effect: %s", text)
	}
	s.end()
}

// TestChantReportsInvalidArguments checks that missing or mistyped required arguments fail with the text of chant's contract.
// Mistyped optional arguments are ignored, as in the chant CLI.
func TestChantReportsInvalidArguments(t *testing.T) {
	t.Parallel()
	project := newDir(t, map[string]string{
		".chant/specs/2026-01-22-001-aaa.md": specText("pending", "One"),
		".chant/specs/2026-01-22-002-bbb.md": specText("completed", "Two"),
		".chant/specs/2026-01-22-003-ccc.md": specText("failed", "Three"),
	})
	before := snapshot(t, project)
	s := serveChant(t, project)
	missing := map[string]string{
		"chant_spec_get": "id", "chant_log": "id", "chant_diagnose": "id", "chant_spec_update": "id", "chant_finalize": "id",
		"chant_resume": "id", "chant_cancel": "id", "chant_archive": "id", "chant_verify": "id",
		"chant_search": "query", "chant_add": "description",
	}
	for tool, name := range missing {
		want := "Missing required parameter: " + name
		for _, arguments := range []string{`{}`, `null`, `[]`, `{"` + name + `":7}`, `{"` + name + `":null}`, `{"` + name + `":["x"]}`} {
			if r := s.call(tool, arguments); r != (result{Text: want, IsError: true}) {
				t.Errorf("%s %s: got %+v, want %q", tool, arguments, r, want)
			}
		}
	}
	for _, arguments := range []string{`{}`, `{"limit":"5"}`, `{"limit":-1}`, `{"limit":1.5}`, `{"limit":null}`, `{"status":7}`, `{"status":"bogus"}`, `{"nobody":"asked"}`} {
		var page struct{ Total, Limit, Returned int }
		if err := json.Unmarshal([]byte(s.mustCall("chant_spec_list", arguments)), &page); err != nil || page.Total != 3 || page.Limit != 50 || page.Returned != 3 {
			t.Errorf("chant_spec_list %s: %v %+v", arguments, err, page)
		}
	}
	for _, one := range []struct{ tool, arguments, want string }{
		{"chant_spec_get", `{"id":"22-00"}`, "Ambiguous spec ID '22-00'. Matches: 2026-01-22-001-aaa, 2026-01-22-002-bbb, 2026-01-22-003-ccc"},
		{"chant_cancel", `{"id":""}`, "Ambiguous spec ID ''. Matches: 2026-01-22-001-aaa, 2026-01-22-002-bbb, 2026-01-22-003-ccc"},
		{"chant_spec_get", `{"id":"zzz"}`, "Spec not found: zzz"},
		{"chant_spec_get", `{"id":"../../../etc/passwd"}`, "Spec not found: ../../../etc/passwd"},
		{"chant_spec_update", `{"id":"aaa","status":"blocked"}`, "Invalid status: blocked. Must be one of: pending, in_progress, completed, failed"},
		{"chant_spec_update", `{"id":"aaa","status":7}`, "No updates specified. Provide 'status' or 'output' parameter."},
	} {
		if r := s.call(one.tool, one.arguments); r != (result{Text: one.want, IsError: true}) {
			t.Errorf("%s %s: got %+v, want %q", one.tool, one.arguments, r, one.want)
		}
	}
	s.end()
	if diff := cmp.Diff(before, snapshot(t, project)); diff != "" {
		t.Errorf("a failed call changed files (-before +after)\n%s", diff)
	}
}
