// Command git is the WebAssembly module of the plugin git. The command only registers the handlers of package tools.
package main

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/git/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	plugin := sdk.New()
	tools.Register(plugin)
	sdk.Serve(plugin)
}

func main() {}
