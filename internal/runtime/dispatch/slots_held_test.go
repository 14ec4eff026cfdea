package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestUnwrittenAnswersKeepTheirSlots checks that a call keeps its slot until its answer is written. Further calls wait for a slot at
// most as long as limits.queue allows.
func TestUnwrittenAnswersKeepTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plugin{Plugin: &catalog.Plugin{Name: "it", Manifest: &manifest.Manifest{}, Log: hclog.NewNullLogger()}, lane: &lane{}}
		p.lane.queue.resize(2)
		p.Grant.Limits.Queue = time.Minute
		ask := func() *queued {
			return p.enqueue(call.Request{Method: abi.MethodToolsCall, Name: "it_reads"}, false)
		}
		first, second, third := ask(), ask(), ask()
		for _, r := range []*queued{first, second} {
			if err := r.start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var failure *gateway.Failure
		if err := third.start(t.Context()); !errors.As(err, &failure) || failure.Code != string(engine.CodeQueue) {
			t.Errorf("the third got %v", err)
		}
		third.ResponseWritten() // the third call has no slot, so this must not release one
		if p.lane.queue.free != 0 {
			t.Errorf("%d slots are free, want 0", p.lane.queue.free)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := third.start(stopped); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call got %v", err)
		}
		time.AfterFunc(time.Second, first.ResponseWritten)
		if err := third.start(t.Context()); err != nil {
			t.Errorf("no slot became free: %v", err)
		}
	})
}
