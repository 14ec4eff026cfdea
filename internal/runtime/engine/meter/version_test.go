package meter

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

func TestVersionChangesWithOutput(t *testing.T) {
	const version, digest = 4, "66daed59744c572ab1f59311473982fa8e6e163e6fbea25f80fc2ef8ec4e0ea2"
	sum := sha256.New()
	fmt.Fprintf(sum, "%v\n", DefaultConfig())
	for _, module := range [][]byte{wasmtest.Answering("{}"), wasmtest.Operating("{}", "{}"), wasmtest.Crashing(), dispatching(usualStart, 0, jumpTo(2, 0)).Bytes()} {
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
