// Package extism translates between requests of MCP and the plugins of the MCP host hyper-mcp, which are modules for Extism. Translate
// returns the export that a request runs and the export's input; Translation.Response converts the output to a response of ABI 1;
// Translation.Host performs the functions of the import module UserModule. EncodeRequest and DecodeResponse translate web requests. ReadTools
// and ReadNames read the lists that a module returns, from which package importer writes a manifest. The package performs no I/O, and
// knows neither the engine nor the sandbox.
package extism

import (
	"errors"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Import modules of plugins besides WASI.
const (
	KernelModule = "extism:host/env"  // memory, input and output, configuration, web requests, logs
	UserModule   = "extism:host/user" // what hyper-mcp adds: requests and notifications for the client
)

// Version is a version of hyper-mcp's interface to plugins.
type Version int

// Versions of the interface. A plugin of V1 has tools only.
const (
	V1 Version = 1
	V2 Version = 2
)

// Exports of plugins.
const (
	exportCall     = "call"     // V1
	exportDescribe = "describe" // V1

	exportCallTool      = "call_tool"
	exportListTools     = "list_tools"
	exportListPrompts   = "list_prompts"
	exportGetPrompt     = "get_prompt"
	exportListResources = "list_resources"
	exportListTemplates = "list_resource_templates"
	exportReadResource  = "read_resource"
	exportComplete      = "complete"
)

// errNoPlugin is the error of Detect for a module that is not a plugin of hyper-mcp.
var errNoPlugin = errors.New("it exports neither call and describe, nor list_tools, list_prompts, list_resources, list_resource_templates or read_resource, by which hyper-mcp knows a plugin")

// Detect returns the version of a plugin by its exported functions.
func Detect(exports func(name string) bool) (Version, error) {
	switch {
	case exports(exportCall) && exports(exportDescribe):
		return V1, nil
	case exports(exportListTools), exports(exportListPrompts), exports(exportListResources), exports(exportListTemplates), exports(exportReadResource):
		return V2, nil
	}
	return 0, errNoPlugin
}

// entry maps a method of MCP to the export that handles it.
type entry struct {
	method string
	export string
	list   string // member of the result that has the items of a list; empty: the method is not a list
}

var entries = map[Version][]entry{
	V1: {
		{abi.MethodToolsCall, exportCall, ""},
		{abi.MethodDescribe, exportDescribe, "tools"},
	},
	V2: {
		{abi.MethodToolsCall, exportCallTool, ""},
		{abi.MethodDescribe, exportListTools, "tools"},
		{abi.MethodPromptsList, exportListPrompts, "prompts"},
		{abi.MethodPromptsGet, exportGetPrompt, ""},
		{abi.MethodResourcesList, exportListResources, "resources"},
		{abi.MethodResourcesTemplatesList, exportListTemplates, "resourceTemplates"},
		{abi.MethodResourcesRead, exportReadResource, ""},
		{abi.MethodComplete, exportComplete, ""},
	},
}

// Exports returns the functions that a plugin of version v may export to handle requests.
func (v Version) Exports() []string {
	var names []string
	for _, e := range entries[v] {
		names = append(names, e.export)
	}
	return names
}

func (v Version) entry(method string) (entry, bool) {
	i := slices.IndexFunc(entries[v], func(e entry) bool { return e.method == method })
	if i < 0 {
		return entry{}, false
	}
	return entries[v][i], true
}
