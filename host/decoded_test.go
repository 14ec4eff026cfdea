package host

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// manyObjects is a JSON array of that many bytes, of which each item takes three.
func manyObjects(size int) string { return "[" + strings.Repeat("{},", size/3) + "{}]" }

// allocatedBy is how many bytes f allocates, all that was freed meanwhile included.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func checkedTool() *tool {
	object := json.RawMessage(`{"type":"object"}`)
	return newTool(manifest.Tool{Name: "t", Input: object, Output: object}, "")
}

func TestStructuredContentIsBoundedBeforeItIsDecoded(t *testing.T) {
	limits := config.DefaultLimits()
	limits.Output = 64 << 20
	result := json.RawMessage(`{"content":[],"structuredContent":{"a":` + manyObjects(12<<20) + `}}`)
	why := ""
	allocated := allocatedBy(func() { why = checkedTool().checkResult(result, limits) })
	if want := "gave structuredContent that does not fit its output schema: holds more than 1048576 values"; why != want {
		t.Errorf("got %q, want %q", why, want)
	}
	if allocated > 1<<20 {
		t.Errorf("%d bytes allocated for a result of %d that is refused", allocated, len(result))
	}
}

func TestArgumentsAreBoundedBeforeTheyAreDecoded(t *testing.T) {
	arguments := json.RawMessage(`{"a":` + manyObjects(4<<20) + `}`)
	var err error
	allocated := allocatedBy(func() { err = checkedTool().check(arguments, config.DefaultLimits()) })
	if err == nil || !strings.HasSuffix(err.Error(), ": holds more than 655360 values") {
		t.Errorf("got %v", err)
	}
	if allocated > 1<<20 {
		t.Errorf("%d bytes allocated for arguments of %d that are refused", allocated, len(arguments))
	}
}

// What a check may decode stays within the memory that the call itself may take.
func TestWhatACheckDecodesIsInProportionToTheLimits(t *testing.T) {
	limits := config.DefaultLimits()
	most := checkedValues(limits.Memory + limits.Output)
	for _, item := range []string{`{}`, `[]`, `1`, `""`, `{"":{}}`} {
		n := most - 3
		if strings.Contains(item, ":") {
			n /= 2
		}
		result := json.RawMessage(`{"content":[],"structuredContent":{"a":[` + strings.Repeat(item+",", n) + item + `]}}`)
		why := ""
		allocated := allocatedBy(func() { why = checkedTool().checkResult(result, limits) })
		if why != "" {
			t.Errorf("%s: %s", item, why)
		}
		if bound := uint64(3 * (limits.Memory + limits.Output)); allocated > bound {
			t.Errorf("%s: %d bytes allocated in all for %d bytes, want at most %d", item, allocated, len(result), bound)
		}
	}
}

func TestAddingFaultsDecodesNoContent(t *testing.T) {
	result := json.RawMessage(`{"isError":true,"content":` + manyObjects(4<<20) + `}`)
	var got json.RawMessage
	allocated := allocatedBy(func() { got = withFaults(result, []error{errors.New("no space left")}) })
	if !strings.HasSuffix(string(got), `{},{"text":"bulkhead: no space left","type":"text"}],"isError":true}`) {
		t.Errorf("got …%s", got[len(got)-100:])
	}
	if most := uint64(4 * len(result)); allocated > most {
		t.Errorf("%d bytes allocated for a result of %d, want at most %d", allocated, len(result), most)
	}
}
