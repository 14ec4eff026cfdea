//go:build !wasip1

package sdktest_test

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// A typical test creates a fake host, sets the results of the host operations that the plugin uses, and makes a call.
func ExampleNew() {
	test := func(t *testing.T) {
		host := sdktest.New(t, plugin(), "plugin.toml")
		host.Handle(abi.OpGitBranchExists, func(json.RawMessage) (any, error) { return true, nil })
		result, err := host.CallTool("greet", `{"name":"Ada"}`)
		if err != nil || result.Text() != "Hello, Ada" {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	_ = test // in a real test file, go test would run this function
}
