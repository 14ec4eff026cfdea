// Command aam is the plugin's module: it registers the tools and does nothing else.
package main

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin)
	sdk.Serve(plugin)
}

func main() {}
