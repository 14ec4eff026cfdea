package meter

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

func TestVersionChangesWithTheOutput(t *testing.T) {
	const version, digest = 2, "5e2d77168bb846f6dcac4fb2947fc44d61abc0e2801f7938c9f76afd9288ce44"
	sum := sha256.New()
	fmt.Fprintf(sum, "%+v\n", Config{}.withDefaults())
	for _, module := range [][]byte{wasmtest.Answering("{}"), wasmtest.Operating("{}", "{}"), wasmtest.Crashing()} {
		result, err := Rewrite(module, Config{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%x %+v\n", sha256.Sum256(result.Module), result.Globals)
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != digest || Version != version {
		t.Errorf("rewritten modules have the digest %s, version %d; the test knows %s, version %d: raise Version, and write both here", got, Version, digest, version)
	}
}
