package history

import (
	"testing"

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
