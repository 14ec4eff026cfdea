package python_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/python"
)

// FuzzStrings checks that arguments are either valid or described in bounded length.
func FuzzStrings(f *testing.F) {
	for _, seed := range []string{`{"a":"x"}`, `{}`, `null`, `[]`, `{"a":1.5e300}`, `{"a":[true,null,{"é\u0000'\"":-0}]}`, `{"a":"\ud800","A":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		values, err := python.Strings("tool", raw, "a")
		if (err == nil) != (len(values) == 1) {
			t.Errorf("got %q, %v", values, err)
		}
		if err != nil && (len(err.Error()) > 300 || !strings.HasPrefix(err.Error(), "1 validation error for toolArguments\na\n")) {
			t.Errorf("got %v", err)
		}
	})
}
