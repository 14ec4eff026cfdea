// Command aam is the WebAssembly module of the plugin aam. The command only registers the tools and resources of
// package tools.
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
