package dispatch_test

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestQuestionsThatFailAreNotOpen has a plugin ask clients that cannot answer, which must not show as questions that wait.
func TestQuestionsThatFailAreNotOpen(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", asking(askRoots, hosttest.Done), "[capabilities]\nask = ['roots']\n"+hosttest.Reads("a_get")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + w.Dir + "/audit.jsonl'\n[[plugins]]\npath = '../plugins/a'\n"})
	d := openIn(t, w)
	able := interaction.ParseClient(json.RawMessage(`{"roots":{}}`))
	for name, c := range map[string]struct {
		interaction call.Interaction
		want        int
	}{
		"without the capability": {call.Interaction{}, 0},
		"asked too often":        {call.Interaction{Client: able, Round: abi.MaxAskRounds}, 0},
		"able":                   {call.Interaction{Client: able}, 1},
	} {
		state := live.New("http", d.AddState)
		d.Observe(dispatch.Observers{State: state})
		if _, err := execute(t, d, call.Request{Interaction: c.interaction}, "a_get", ""); err == nil {
			t.Fatal("the call has not asked")
		}
		if got := state.Snapshot().Waiting; len(got) != c.want {
			t.Errorf("a client %s: %d questions wait, want %d: %+v", name, len(got), c.want, got)
		}
	}
}
