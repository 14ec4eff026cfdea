// Command time is the WebAssembly module of the plugin time. The command only registers the handlers of package
// tools.
package main

import (
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/time/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin, time.Now)
	sdk.Serve(plugin)
}

func main() {}
