package servers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// TestFollowTellsWhatHasChanged has states of which some are the same.
func TestFollowTellsWhatHasChanged(t *testing.T) {
	at := func(second int64, calls ...live.Call) *Servers {
		return &Servers{Servers: []Server{{Snapshot: live.Snapshot{PID: 1, Time: time.Unix(second, 0), Calls: calls}}}}
	}
	states := []*Servers{at(1), at(2), at(3, live.Call{ID: "a"}), at(4, live.Call{ID: "a"}), at(5), at(6), {}}
	ctx, stop := context.WithCancel(t.Context())
	shown, i := "", 0
	err := follow(ctx, func(context.Context) (*Servers, error) {
		i++
		return states[i-1], nil
	}, time.Microsecond, func(s *Servers, changed bool) error {
		switch {
		case len(s.Servers) == 0:
			stop()
		case changed:
			shown += fmt.Sprint(s.Servers[0].Time.Unix())
		default:
			shown += "-"
		}
		return nil
	})
	if shown != "1-345-" || !errors.Is(err, context.Canceled) {
		t.Errorf("shown %s, %v", shown, err)
	}
}
