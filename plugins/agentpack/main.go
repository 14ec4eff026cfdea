// Command agentpack is the WebAssembly module of the plugin agentpack. The command only registers the tools of package
// tools.
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
