package meter

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

func TestVersionChangesWithOutput(t *testing.T) {
	const version, digest = 4, "8daf5c8bec191a0614a4a64a354541bd5639fce586c0262738494e99668d2dd2"
	sum := sha256.New()
	fmt.Fprintf(sum, "%v\n", Config{}.withDefaults())
	for _, module := range [][]byte{wasmtest.Answering("{}"), wasmtest.Operating("{}", "{}"), wasmtest.Crashing(), dispatching(usualStart, 0, jumpTo(2, 0)).Bytes()} {
		result, err := Rewrite(module, Config{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%x %+v\n", sha256.Sum256(result.Module), result.Globals)
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != digest || Version != version {
		t.Errorf("rewritten modules have digest %s, version %d; want %s, version %d: raise Version and update the test", got, Version, digest, version)
	}
}
