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
	return newTool(&Plugin{Manifest: &manifest.Manifest{Validate: manifest.ValidateHost}}, manifest.Tool{Name: "t", Input: object, Output: object})
}

func TestArgumentsAreBoundedBeforeTheyAreDecoded(t *testing.T) {
	arguments := json.RawMessage(`{"a":` + manyObjects(4<<20) + `}`)
	var err error
	allocated := testenv.AllocatedBy(func() { _, err = checkedTool().CheckArguments(arguments, config.DefaultLimits()) })
	if err == nil || !strings.HasSuffix(err.Error(), ": contains more than 655360 values") {
		t.Errorf("got %v", err)
	}
	if allocated > 1<<20 {
		t.Errorf("CheckArguments allocated %d bytes to refuse arguments of %d bytes, want at most %d", allocated, len(arguments), 1<<20)
	}
}

// An argument whose name is misspelled is often the one that is missing.
func TestRefusedArgumentsNameNearest(t *testing.T) {
	p := &Plugin{Manifest: &manifest.Manifest{Validate: manifest.ValidateHost}}
	tool := newTool(p, manifest.Tool{Name: "t", Input: json.RawMessage(`{"type":"object","properties":{"path":{}},"required":["path"]}`)})
	_, err := tool.CheckArguments(json.RawMessage(`{"pth":"a","other":1}`), config.DefaultLimits())
	if want := `was called with arguments that do not match its schema: missing property 'path'; did you mean "path" by "pth"?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
