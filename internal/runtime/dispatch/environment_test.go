package dispatch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
)

// Only a plugin that is being developed learns that it is: its SDK then reports variables that are not granted.
func TestDevelopmentIsInEnvironment(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[capabilities]\nenv = ['TOKEN']\n"+hosttest.Reads("a_reads")))
	for name, c := range map[string]struct {
		development *host.Development
		want        map[string]string
	}{
		"served":    {nil, map[string]string{"TOKEN": "t"}},
		"developed": {&host.Development{Source: w.Dir, Built: func() (string, error) { return w.Dir + "/plugins/a", nil }}, map[string]string{"TOKEN": "t", "BULKHEAD_DEVELOPMENT": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := w.Options()
			o.Development, o.Env = c.development, map[string]string{"TOKEN": "t"}
			found, err := discovery.Find(o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, dispatch.Environment(dispatch.New(catalog.New(found)), 0)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
