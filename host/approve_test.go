package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
)

// approvingCall calls a tool as a client that supports elicitation. more are further parameters.
func approvingCall(t *testing.T, url, token, tool, more string) (body string) {
	t.Helper()
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, tool, more)
	_, body = send(t, url, token, text, map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool})
	return body
}

// TestApprovalBelongsToPrincipalAndProject checks that the table of a client requires approval for its principals only, and that an approval
// counts for no other principal, for no other project, and once, also if many requests bring it at the same time.
func TestApprovalBelongsToPrincipalAndProject(t *testing.T) {
	s := serveTeam(t, "[[clients]]\nname = 'asked'\nmatch = { tokens = ['asked-*'] }\napprove_writes = true\n", nil, "root", "asked-a", "asked-b")
	if got := approvingCall(t, s.url, s.tokens["root"], "calm_writes", ""); !strings.Contains(got, `"done"`) {
		t.Errorf("a client of another table: got %s", got)
	}
	first := approvingCall(t, s.url, s.tokens["asked-a"], "calm_writes", "")
	var answer struct {
		Result struct{ RequestState string }
	}
	if err := json.Unmarshal([]byte(first), &answer); err != nil || !strings.Contains(first, `Tool: calm_writes\nAccount: asked-a\n`) {
		t.Fatalf("got %s, %v", first, err)
	}
	approved := fmt.Sprintf(`"inputResponses":{"bulkhead_approval":{"action":"accept","content":{"approve":true}}},"requestState":%q,`, answer.Result.RequestState)
	for name, c := range map[string]struct{ url, user, tool string }{
		"another principal":                  {s.url, "asked-b", "calm_writes"},
		"a principal that needs no approval": {s.url, "root", "calm_writes"},
		"another project":                    {s.endpoint("one"), "asked-a", "calm_writes"},
		"another tool":                       {s.url, "asked-a", "loud_writes"},
	} {
		if got := approvingCall(t, c.url, s.tokens[c.user], c.tool, approved); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	var ran, refused atomic.Int32
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			switch got := approvingCall(t, s.url, s.tokens["asked-a"], "calm_writes", approved); {
			case strings.Contains(got, `"done"`):
				ran.Add(1)
			case strings.Contains(got, "approval_replayed"):
				refused.Add(1)
			default:
				t.Errorf("got %s", got)
			}
		})
	}
	all.Wait()
	if ran.Load() != 1 || refused.Load() != 29 {
		t.Errorf("%d requests ran and %d were refused, want 1 and 29", ran.Load(), refused.Load())
	}
}

// TestScriptsCannotBeApproved checks that a call of a script which needs approval ends with an error that names the tool: a user who has let a
// script run has not seen its calls.
func TestScriptsCannotBeApproved(t *testing.T) {
	h, w := openScripts(t, `[{"name":"notes_read"},{"name":"notes_text"}]`, "[defaults]\napprove_tools = ['notes_read']\n")
	answer, err := h.Call(t.Context(), "run_script", nil, host.Client{Approve: func(context.Context, string) (host.Decision, error) {
		t.Error("the user was asked")
		return host.Approved, nil
	}})
	if err != nil || !strings.Contains(string(answer.Result), `"structuredContent"`) {
		t.Fatalf("got %s, %v", answer.Result, err)
	}
	const want = `[{"error":"bulkhead: notes_read needs the approval of the user, who cannot be asked here: call it directly,`
	if log := w.Log.String(); !strings.Contains(log, want) || !strings.Contains(log, `{"value":"a\nb`) {
		t.Errorf("want %s in\n%s", want, log)
	}
}
