// Everything is a plugin with every kind of tool, prompt and resource that MCP has, under the names that the official
// conformance suites call. It is the server that docs/mcp-conformance.md tests, and an example of each part of the SDK.
package main

import "github.com/bulkhead-mcp/bulkhead/sdk"

func init() { sdk.Serve(plugin()) }

func main() {}

func plugin() *sdk.Plugin {
	p := sdk.New()
	registerContent(p)
	registerNotifications(p)
	registerSchemas(p)
	registerAsks(p)
	registerTasks(p)
	p.HandlePrompts(sdk.Prompts{List: listPrompts, Get: getPrompt})
	p.HandleResources(sdk.Resources{List: listResources, Templates: listTemplates, Read: readResource})
	p.HandleComplete(complete)
	return p
}
