package host_test

import (
	"context"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// TestHTTPRefusesClientTables checks that no client is served over HTTP beyond a table that is not applied.
func TestHTTPRefusesClientTables(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("one")),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\n"})
	err := w.Open(t, w.Options()).ServeHTTP(context.Background(), host.HTTPOptions{Address: "127.0.0.1:0", Listening: func(string) { t.Error("serves") }})
	hosttest.WantUsage(t, err, "[[clients]]")
}
