package worker

import (
	"sync/atomic"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// Each call may send the maximum size of records, regardless of what other calls have sent.
func TestRecordsOfDerivedDataAreBoundedPerCall(t *testing.T) {
	var bytes, empty atomic.Int64
	take := func(records []byte) {
		if len(records) == 0 {
			empty.Add(1)
		}
		bytes.Add(int64(len(records)))
	}
	s := newSupervisor(t, func(c *Config) { counting(new(atomic.Int32), func(_ int32, l *Launch) { l.Derived = take })(c) })
	const calls = 10
	for range calls {
		if _, err := s.Call(t.Context(), method("derived")); err != nil {
			t.Fatal(err)
		}
	}
	if got := bytes.Load(); got != calls*wire.DerivedPerCall {
		t.Errorf("the host accepted %d bytes of records, want %d", got, calls*wire.DerivedPerCall)
	}
	for _, how := range []string{"derived flood", "empty derived flood"} {
		bytes.Store(0)
		if _, err := s.Call(t.Context(), method(how)); codeOf(t, err) != engine.CodeWorkerLost {
			t.Errorf("%s: got %v, want the loss of the worker", how, err)
		}
		if got := bytes.Load() + perDerivedFrame*empty.Load(); got > 2*maxDerived {
			t.Errorf("%s: the host accepted %d bytes, want at most %d", how, got, 2*maxDerived)
		}
	}
	without := newSupervisor(t, nil)
	if _, err := without.Call(t.Context(), method("derived")); codeOf(t, err) != engine.CodeWorkerLost {
		t.Errorf("a worker that sends records unrequested: got %v, want the code %s", err, engine.CodeWorkerLost)
	}
}
