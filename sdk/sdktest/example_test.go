//go:build !wasip1

package sdktest_test

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// Most tests have these lines: a fake host, the results of the host operations that the plugin uses, and a call.
func ExampleNew() {
	test := func(t *testing.T) {
		host := sdktest.New(t, plugin(), "plugin.toml")
		host.Handle(abi.OpGitBranchExists, func(json.RawMessage) (any, error) { return true, nil })
		result, err := host.CallTool("greet", `{"name":"Ada"}`)
		if err != nil || result.Text() != "Hello, Ada" {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	_ = test // go test runs it
}
