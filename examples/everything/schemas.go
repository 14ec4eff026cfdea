package main

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// The schemas are in plugin.toml: the host has validated the arguments before they arrive here.
func registerSchemas(p *sdk.Plugin) {
	for _, name := range []string{"json_schema_2020_12_tool", "test_x_mcp_header"} {
		sdk.HandleTool(p, name, func(_ context.Context, arguments json.RawMessage) (*sdk.ToolResult, error) {
			return sdk.Text("Called with " + string(arguments)), nil
		})
	}
}
