//go:build unix

package grants

import (
	"os"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// TestToolsWhoseCallsRunAreUsed has a log with a call of another tool only, and a server with a call that has not ended.
func TestToolsWhoseCallsRunAreUsed(t *testing.T) {
	w := newSample(t)
	w.Write(t, "audit.jsonl", `{"time":"`+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)+`","kind":"call","id":"1","plugin":"second","principal":"local","method":"tools/call","tool":"x_second_read","outcome":"ok"}`+"\n")
	dir, err := os.MkdirTemp("", "g") // whose path leaves room for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := w.Options()
	lookup := o.System.LookupEnv
	o.System.LookupEnv = func(name string) (string, bool) {
		if name == "XDG_STATE_HOME" {
			return dir, true
		}
		return lookup(name)
	}
	state, err := discovery.StateDir(o.System)
	if err != nil {
		t.Fatal(err)
	}
	s := live.New("stdio", func(*live.Snapshot) {})
	server, err := live.Listen(live.Dir(state), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	unused := func() (all string) {
		p, err := Look(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range p.Clients[0].Unused() {
			all += u.Tool.Name + " "
		}
		return all
	}
	if got := unused(); got != "first_read first_write " {
		t.Errorf("before the call these are unused: %s", got)
	}
	s.Begin(&audit.Record{Kind: audit.KindCall, Plugin: "first", Method: "tools/call", Tool: "first_read", Time: time.Now()}, &call.Times{})
	if got := unused(); got != "first_write " {
		t.Errorf("while the call runs these are unused: %s", got)
	}
}
