// Command mcpkg is the plugin's module: it registers the handlers.
package main

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin)
	sdk.Serve(plugin)
}

func main() {}
