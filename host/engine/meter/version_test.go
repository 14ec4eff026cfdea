package meter

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

func TestVersionChangesWithTheOutput(t *testing.T) {
	const version, digest = 1, "9ca2e8a7b35d85581d962c60e820182b9d150bc4ec2340673267964e5c744f1d"
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
