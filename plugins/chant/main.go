// Command chant is the WebAssembly module of the plugin chant. The command only registers the tools.
package main

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin)
	sdk.Serve(plugin)
}

func main() {}
