// Greeter is the plugin that the tests compile.
package main

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "greet", greet)
	sdk.Serve(p)
}

func main() {}

type person struct {
	Name string `json:"name"`
}

func greet(_ context.Context, who person) (*sdk.ToolResult, error) {
	return sdk.Text("Hello, " + who.Name), nil
}
