package meter

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

func TestVersionChangesWithOutput(t *testing.T) {
	const version, digest = 5, "759d58e77baee81af2e6f7d9a1379876f3eddb360ce06a29af7a29eadbeaf351"
	sum := sha256.New()
	fmt.Fprintf(sum, "%v\n", DefaultConfig())
	guarded := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, 2), "{}",
		wasmtest.Import{Module: wasiModule, Name: "fd_write", Type: wasmtest.FourToI}, wasmtest.Import{Module: wasiModule, Name: "fd_renumber", Type: wasmtest.TwoToI}).Bytes()
	for _, module := range [][]byte{guarded, wasmtest.Answering("{}"), wasmtest.Operating("{}", "{}"), wasmtest.Crashing(), dispatching(usualStart, 0, jumpTo(2, 0)).Bytes()} {
		result, err := Rewrite(module, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%x %+v\n", sha256.Sum256(result.Module), result.Globals)
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != digest || Version != version {
		t.Errorf("rewritten modules have digest %s, version %d; want %s, version %d: raise Version and update the test", got, Version, digest, version)
	}
}
