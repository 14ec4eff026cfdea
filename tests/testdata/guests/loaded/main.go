// Loaded is a plugin that reads and writes a directory while its module is loaded, which is not part of a call.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	project := os.Getenv("BULKHEAD_PROJECT")
	text, err := os.ReadFile(filepath.Join(project, "a.txt"))
	wrote := os.WriteFile(filepath.Join(project, "b.txt"), text, 0o600)
	p := sdk.New()
	sdk.HandleTool(p, "loaded", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		return sdk.Text(fmt.Sprintf("%s, %v, %v", text, err, wrote)), nil
	})
	sdk.Serve(p)
}

func main() {}
