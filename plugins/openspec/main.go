// Command openspec is the WebAssembly module of the plugin openspec. The command only registers the handlers.
package main

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin)
	sdk.Serve(plugin)
}

func main() {}
