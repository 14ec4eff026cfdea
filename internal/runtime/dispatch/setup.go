package dispatch

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// setup is a call of the tool that says why no plugin is served. The host answers it itself, from the Catalog.
type setup struct{ catalog *catalog.Catalog }

// Execute implements gateway.Queued.
func (s setup) Execute(context.Context, gateway.Notifier) (call.Result, error) {
	return call.Result{Body: s.catalog.SetupResult()}, nil
}

// Failure implements gateway.Queued.
func (s setup) Failure(code, message string) *gateway.Failure {
	return &gateway.Failure{Code: code, Tool: config.SetupName, Message: message}
}
