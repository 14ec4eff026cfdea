// Command filesystem is the WebAssembly module of the plugin filesystem. The command only registers the tools.
package main

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin)
	sdk.Serve(plugin)
}

func main() {}
