package meter

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

func TestVersionChangesWithOutput(t *testing.T) {
	const version, digest = 2, "3636ede67257cf9012e40a95341e2ac225be0ba5798c75355852a3aece288ca1"
	sum := sha256.New()
	fmt.Fprintf(sum, "%v\n", Config{}.withDefaults())
	for _, module := range [][]byte{wasmtest.Answering("{}"), wasmtest.Operating("{}", "{}"), wasmtest.Crashing()} {
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
