// Command echo is a plugin that returns its argument.
package main

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "echo", func(_ context.Context, a struct {
		Text string `json:"text"`
	}) (*sdk.ToolResult, error) {
		return sdk.Text(a.Text), nil
	})
	sdk.Serve(p)
}

func main() {}
