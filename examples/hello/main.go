// Hello is a plugin as a third party would write it. It consists of this file, plugin.toml and go.mod.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() { sdk.Serve(plugin()) }

func main() {}

func plugin() *sdk.Plugin {
	p := sdk.New()
	sdk.HandleTool(p, "hello_greet", greet)
	return p
}

// greeting contains the arguments of hello_greet. The host validates them with the schema in
// plugin.toml before the plugin receives them.
type greeting struct {
	Name  string `json:"name"`
	Times int    `json:"times"`
}

func greet(ctx context.Context, g greeting) (*sdk.ToolResult, error) {
	times := max(g.Times, 1)
	lines := make([]string, times)
	for i := range lines {
		lines[i] = fmt.Sprintf("Hello, %s!", g.Name)
		if err := sdk.Progress(ctx, float64(i+1), float64(times), ""); err != nil {
			return nil, err
		}
	}
	return sdk.Text(strings.Join(lines, "\n")), nil
}
