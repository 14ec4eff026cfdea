// Command fetch is the WebAssembly module of the plugin fetch. The command only registers the handlers of package tools.
package main

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin)
	sdk.Serve(plugin)
}

func main() {}
