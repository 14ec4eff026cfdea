// Command agentpack is the plugin's module: it registers the tools and does nothing else.
package main

import (
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin, time.Now)
	sdk.Serve(plugin)
}

func main() {}
