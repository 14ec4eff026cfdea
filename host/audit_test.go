package host_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// TestAuditNamesClientsAndEvents serves named tokens over HTTP, and checks the records of a call, of a refused request, of changes of the
// policy and the tokens, and of the server's start and end.
func TestAuditNamesClientsAndEvents(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"))
	log := filepath.Join(w.Dir, "audit.jsonl")
	config := fmt.Sprintf("[http]\ntokens = true\n[audit]\nfile = %q\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/a'\n", log)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": config})
	file := bearer.In(filepath.Join(w.Dir, "state", "bulkhead"))
	token := makeNamed(t, file, "ci")
	h := w.Open(t, w.Options())
	url, end := serveHTTP(t, h, host.HTTPOptions{Address: "127.0.0.1:0"})
	for _, tool := range []string{"a_reads", "other"} {
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":"request \u001b 7","method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool)
		if status, body := send(t, url, token, message, map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}); status != http.StatusOK && tool == "a_reads" {
			t.Fatalf("%d %s", status, body)
		}
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": config + "deny_tools = ['a_reads']\n"})
	w.Trust(t, "work/bulkhead.toml")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": config + "read_only = 7\n"})
	w.Trust(t, "work/bulkhead.toml")
	if err := h.Reload(t.Context()); err == nil {
		t.Fatal("an invalid config is accepted")
	}
	makeNamed(t, file, "more")
	_ = h.Reload(t.Context())
	_ = end()

	const reason = "read_only"
	type line struct{ Kind, Principal, Address, Request, Method, Tool, Outcome, Code, Config, Reason string }
	var got []line
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var one line
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(lines.Text(), token) {
			t.Errorf("the log contains the token: %s", lines.Text())
		}
		if one.Kind == "server" && strings.HasPrefix(one.Address, "127.0.0.1:") {
			one.Address = "127.0.0.1:PORT"
		}
		if strings.Contains(one.Reason, "read_only: is an integer, not true or false") {
			one.Reason = reason
		}
		got = append(got, one)
	}
	named, err := file.Read()
	if err != nil {
		t.Fatal(err)
	}
	id, path := "token:"+named[0].ID, filepath.Join(w.Dir, "work", "bulkhead.toml")
	want := []line{
		{Kind: "server", Method: "start", Outcome: "ok", Address: "127.0.0.1:PORT"},
		{Kind: "call", Principal: id, Address: "127.0.0.1", Request: `"request \u001b 7"`, Method: "tools/call", Tool: "a_reads", Outcome: "ok"},
		{Kind: "refused", Principal: id, Address: "127.0.0.1", Request: `"request \u001b 7"`, Method: "tools/call", Tool: "other", Outcome: "denied", Code: "unknown"},
		{Kind: "policy", Method: "change", Outcome: "ok", Config: path},
		{Kind: "policy", Method: "change", Outcome: "denied", Config: path, Reason: reason},
		{Kind: "tokens", Method: "change", Outcome: "ok"},
		{Kind: "policy", Method: "change", Outcome: "denied", Config: path, Reason: reason},
		{Kind: "server", Method: "end", Outcome: "ok", Address: "127.0.0.1:PORT"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
