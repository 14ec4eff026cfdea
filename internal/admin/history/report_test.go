package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// TestSlowestPrefersToolsWithEnoughCalls has a tool of one slow call, one of several, and one that was always busy.
func TestSlowestPrefersToolsWithEnoughCalls(t *testing.T) {
	row := func(tool string, calls int, e audit.Entry) Row {
		r := Row{Key: Key{Tool: tool}}
		e.Kind = audit.KindCall
		for range calls {
			r.count(&e)
		}
		return r
	}
	timeout := audit.Entry{Outcome: audit.Failed, Code: "timeout", Duration: 90e6}
	busy := audit.Entry{Outcome: audit.Failed, Code: "busy", Duration: 60e6}
	usual := audit.Entry{Outcome: audit.OK, Duration: 4e6}
	names := func(rows ...Row) (all string) {
		for _, r := range (&Summary{Tools: rows}).Slowest() {
			all += r.Tool + " "
		}
		return all
	}
	if got := names(row("once", 1, timeout), row("busy", 9, busy), row("often", fewCalls, usual)); got != "often once " {
		t.Errorf("got %s", got)
	}
	if got := names(row("rare", 2, usual), row("once", 1, timeout)); got != "once rare " {
		t.Errorf("with few calls: got %s", got)
	}
	if r := row("busy", 9, busy); r.Calls != 9 || r.Errors() != 9 || r.Codes["busy"] != 9 || r.Longest != 0 {
		t.Errorf("calls that found the plugin busy: got %+v", r.Stats)
	}
}

// TestRefusedCountsClients has two clients that were refused the same, one of them twice, and one that was refused something else.
func TestRefusedCountsClients(t *testing.T) {
	f := newFixture(t)
	for i, c := range [][3]string{{"local", "a/1", "not_granted"}, {"local", "a/1", "not_granted"}, {"token:x", "b/1", "not_granted"}, {"local", "c/1", "unknown"}} {
		f.append(fmt.Sprintf(`{"time":%q,"kind":"refused","plugin":"p","method":"tools/call","tool":"t","principal":%q,"client":%q,"outcome":"denied","code":%q}`+"\n",
			now.Add(time.Duration(i-9)*time.Minute).Format(time.RFC3339), c[0], c[1], c[2]))
	}
	got := map[string]int{}
	for _, r := range f.summary(Query{}).Refused() {
		got[r.Code] = r.Clients
	}
	if got["not_granted"] != 2 || got["unknown"] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestCallersCannotLookLikePrincipals(t *testing.T) {
	for want, k := range map[string]Key{
		"editor/2 (local)": CallerKey("local", "editor/2"), "ci (token:x)/1 (bearer)": CallerKey("bearer", "ci (token:x)/1"), "token:x": CallerKey("token:x", "agent/1"), "local": CallerKey("local", ""), "(unnamed)": {},
	} {
		if got := k.Caller(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
