package dispatch_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// searching returns a world whose server finds tools, with a plugin a that has a tool that reads, one that writes and one that is denied.
func searching(t *testing.T, server, plugin string) *hosttest.World {
	tools := hosttest.Reads("a_get") + "input_json = '{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"}},\"required\":[\"id\"]}'\n" +
		hosttest.Writes("a_put") + hosttest.Writes("a_drop") + hosttest.Reads("a_long") + "task = 'required'\n"
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), tools), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_get")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\ntools = 'search'\n" + server + "[audit]\nfile = '" + w.Dir + "/audit.jsonl'\narguments = 'full'\non_failure = 'closed'\n" +
		"[[plugins]]\npath = '../plugins/a'\ndeny_tools = ['a_drop']\n" + plugin + "[[plugins]]\npath = '../plugins/b'\n"})
	return w
}

func TestHostToolsCallToolsOfPlugins(t *testing.T) {
	w := searching(t, "", "")
	h := w.Open(t, w.Options())
	for _, c := range []struct{ params, want, record string }{
		{`{"name":"read_tool","arguments":{"name":"a_get","arguments":{"id":"x"}}}`, `{"content":[{"type":"text","text":"done"}]}`, `call a a_get read_tool ok  {"id":"x"}`},
		{`{"name":"write_tool","arguments":{"name":"a_put"}}`, `{"content":[{"type":"text","text":"done"}]}`, `call a a_put write_tool ok  `},
		{`{"name":"a_put"}`, `{"content":[{"type":"text","text":"done"}]}`, `call a a_put  ok  `},
		{`{"name":"read_tool","arguments":{"name":"a_get","arguments":{"id":3}}}`, "was called with arguments that do not match its schema", `call a a_get read_tool failed invalid_arguments {"id":3}`},
		{`{"name":"read_tool","arguments":{"name":"a_put"}}`, "bulkhead: a_put writes: call it by write_tool", `refused a a_put read_tool denied writes `},
		{`{"name":"write_tool","arguments":{"name":"a_get","arguments":{"id":"x"}}}`, "bulkhead: a_get only reads: call it by read_tool", `refused a a_get write_tool denied reads `},
		{`{"name":"read_tool","arguments":{"name":"a_long"}}`, "bulkhead: a_long runs only as a task, which read_tool cannot begin", `refused a a_long read_tool denied indirect `},
		{`{"name":"write_tool","arguments":{"name":"a_drop"}}`, `Unknown tool: a_drop`, `refused a a_drop write_tool denied not_granted `},
		{`{"name":"read_tool","arguments":{"name":"nope"}}`, `Unknown tool: nope`, `refused  nope read_tool denied unknown `},
		{`{"name":"read_tool","arguments":{"name":"read_tool","arguments":{"name":"a_get"}}}`, `Unknown tool: read_tool`, `refused  read_tool read_tool denied unknown `},
		{`{"name":"read_tool","arguments":{"name":"a_get","Name":"b_get"}}`, "Name differs from name only in case", `call  read_tool  failed invalid_arguments {"name":"a_get","Name":"b_get"}`},
		{`{"name":"read_tool","arguments":{"name":"a_get","arguments":"{}"}}`, "arguments that are not an object", `call  read_tool  failed invalid_arguments {"name":"a_get","arguments":"{}"}`},
		{`{"name":"read_tool","arguments":{"name":"a_get","id":"x"}}`, "has no argument id", `call  read_tool  failed invalid_arguments {"name":"a_get","id":"x"}`},
		{`{"name":"read_tool"}`, "needs the argument name", `call  read_tool  failed invalid_arguments `},
		{`{"name":"find_tools","arguments":{"query":"a put"}}`, `a_put() writes: does it`, `call  find_tools  ok  {"query":"a put"}`},
		{`{"name":"find_tools","arguments":{"query":"x","limit":99}}`, "do not match its schema", `call  find_tools  failed invalid_arguments {"query":"x","limit":99}`},
		{`{"name":"describe_tools","arguments":{"names":["a_get","a_drop"]}}`, `It only reads: call it by read_tool`, `call  describe_tools  ok  {"names":["a_get","a_drop"]}`},
		{`{"name":"describe_tools","arguments":{"names":["a_get"],"format":"schema"}}`, `\"required\":[\"id\"]`, `call  describe_tools  ok  {"names":["a_get"],"format":"schema"}`},
		{`{"name":"describe_tools","arguments":{"names":["a_drop"]}}`, `Unknown tool: a_drop"}],"isError":true`, `call  describe_tools  ok  {"names":["a_drop"]}`},
	} {
		if got := hosttest.Request(t, h, "tools/call", c.params); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant %s", c.params, got, c.want)
		}
		if got := lastRecord(t, w); got != c.record {
			t.Errorf("%s: the record is\n%q, want\n%q", c.params, got, c.record)
		}
	}
}

// lastRecord returns the last line of the audit log: kind, plugin, tool, via, outcome, code and arguments.
func lastRecord(t *testing.T, w *hosttest.World) string {
	log, err := os.ReadFile(w.Dir + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var l struct{ Kind, Plugin, Tool, Via, Outcome, Code, Arguments string }
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(string(log)), "\n")) {
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Kind != "server" { // the end of the session that made the request
			break
		}
	}
	return strings.Join([]string{l.Kind, l.Plugin, l.Tool, l.Via, l.Outcome, l.Code, l.Arguments}, " ")
}

func TestHostToolsAreUnknownWhereAllToolsAreListed(t *testing.T) {
	w := searching(t, "", "")
	o := w.Options()
	o.Tools = "all"
	h := w.Open(t, o)
	for _, name := range []string{"find_tools", "describe_tools", "read_tool", "write_tool"} {
		if got := hosttest.Request(t, h, "tools/call", `{"name":"`+name+`","arguments":{"name":"a_put","query":"a","names":["a_put"]}}`); !strings.Contains(got, "Unknown tool: "+name) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
