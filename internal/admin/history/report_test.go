package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestRefusalsAreToldApartByTarget has two clients with targets of their own, calls of names that no plugin has, and more targets than are told apart, in two hours.
func TestRefusalsAreToldApartByTarget(t *testing.T) {
	f := newFixture(t)
	refuse := func(hours int, principal, tool, target string) {
		at, plugin, operations := now.Add(time.Duration(-hours)*time.Hour).Format(time.RFC3339), "", ""
		if target != "" {
			plugin, operations = "p", fmt.Sprintf(`,"operations":[{"op":"file/open","target":%q,"outcome":"denied"}]`, target)
		}
		f.append(fmt.Sprintf(`{"time":%q,"kind":"refused","plugin":%q,"method":"tools/call","tool":%q,"principal":%q,"outcome":"denied","code":"denied"%s}`+"\n", at, plugin, tool, principal, operations))
	}
	got := func() map[string]string {
		all := map[string]string{}
		for _, r := range f.summary(Query{}).Refused() {
			all[r.Example] += fmt.Sprintf("%d of %d by %s, several: %v; ", r.Count, r.Clients, r.LastPrincipal, r.Several)
		}
		return all
	}
	refuse(3, "token:a", "read", "/etc/passwd")
	refuse(2, "token:a", "read", "/etc/passwd")
	refuse(2, "token:b", "read", "/home/.ssh")
	refuse(2, "token:b", "nosuch", "")
	refuse(2, "token:b", "other", "")
	want := map[string]string{
		"/etc/passwd": "2 of 1 by token:a, several: false; ", "/home/.ssh": "1 of 1 by token:b, several: false; ",
		"nosuch": "1 of 1 by token:b, several: false; ", "other": "1 of 1 by token:b, several: false; ",
	}
	if diff := cmp.Diff(want, got()); diff != "" {
		t.Error(diff)
	}
	for i := range 100 {
		refuse(2-i%2, []string{"token:a", "token:c"}[i%2], "read", fmt.Sprintf("/x/%02d", i))
	}
	all := got()
	if len(all) > maxTargets+3 || all["/x/99"] != "94 of 3 by token:c, several: true; " {
		t.Errorf("%d targets, of which the last one is %s: %q", len(all), all["/x/99"], all)
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

func TestSummaryEndsNow(t *testing.T) {
	f := newFixture(t)
	f.append(fmt.Sprintf(`{"time":%q,"kind":"call","id":"1","plugin":"p","tool":"t","outcome":"ok"}`+"\n", now.Add(-time.Minute).Format(time.RFC3339)))
	if s := f.summary(Query{}); !s.To.Equal(now) || s.Total.Calls != 1 || len(s.Series) != 1 {
		t.Errorf("it ends at %s with %d calls in %d steps", s.To, s.Total.Calls, len(s.Series))
	}
}
