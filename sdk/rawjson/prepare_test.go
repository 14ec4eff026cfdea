package rawjson_test

import (
	"runtime"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// The types are local to this test, because encoding/json keeps the analysis of a type as long as the process runs.
func TestPreparedTypesAreEncodedWithoutAnalysis(t *testing.T) {
	type prepared struct {
		A string               `json:"a,omitempty"`
		B []struct{ C, D int } `json:"b"`
		E *struct{ F any }     `json:"e"`
	}
	type other struct {
		A string               `json:"x,omitempty"`
		B []struct{ G, H int } `json:"b"`
		E *struct{ I any }     `json:"e"`
	}
	rawjson.Prepare(prepared{}, make(chan int)) // a channel cannot be encoded
	with, without := allocationsOf(t, prepared{}), allocationsOf(t, other{})
	if with*2 > without {
		t.Errorf("encoding a prepared type allocates %d times, any other %d times", with, without)
	}
}

// allocationsOf returns the number of allocations in the first encoding of a value.
func allocationsOf(t *testing.T, value any) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := rawjson.Marshal(value); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
