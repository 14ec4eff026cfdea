package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// manyObjects returns a JSON array of about size bytes with three bytes per item.
func manyObjects(size int) string { return "[" + strings.Repeat("{},", size/3) + "{}]" }

func checkedTool() *Tool {
	object := json.RawMessage(`{"type":"object"}`)
	return newTool(&Plugin{}, manifest.Tool{Name: "t", Input: object, Output: object})
}

func TestArgumentsAreBoundedBeforeTheyAreDecoded(t *testing.T) {
	arguments := json.RawMessage(`{"a":` + manyObjects(4<<20) + `}`)
	var err error
	allocated := testenv.AllocatedBy(func() { err = checkedTool().CheckArguments(arguments, config.DefaultLimits()) })
	if err == nil || !strings.HasSuffix(err.Error(), ": contains more than 655360 values") {
		t.Errorf("got %v", err)
	}
	if allocated > 1<<20 {
		t.Errorf("CheckArguments allocated %d bytes to refuse arguments of %d bytes, want at most %d", allocated, len(arguments), 1<<20)
	}
}
