package worker

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A script whose process ends after it has called a tool must not call it again.
func TestCallsOfToolsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]bool{abi.MethodToolsCall: true, abi.OpClaims: false, "unknown": true} {
		if got := changes(wire.Operation{Op: op, Params: []byte("[]")}); got != want {
			t.Errorf("%s: got %v", op, got)
		}
	}
}
