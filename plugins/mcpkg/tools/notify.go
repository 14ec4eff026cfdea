package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// changed tells clients that the list of a kind is another. Whether they hear of it is the host's to decide,
// which knows what was announced to them. It never fails a call: what it tells of has happened.
func changed(kind item.Kind) {
	tell := sdk.ResourcesChanged
	if kind == item.Prompt {
		tell = sdk.PromptsChanged
	}
	if err := tell(); err != nil {
		sdk.Log(sdk.LevelDebug, "%v", err)
	}
}
