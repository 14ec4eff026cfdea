package tools

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// changed tells the client that the list of a kind is another. Whether a client hears of it is the host's
// to decide: it knows what was announced.
func changed(kind item.Kind) {
	if kind == item.Prompt {
		notify("notifications/prompts/list_changed", nil)
		return
	}
	notify("notifications/resources/list_changed", nil)
}

// updated tells the client that the resource with that URI holds something else.
func updated(uri string) {
	notify("notifications/resources/updated", map[string]string{"uri": uri})
}

// notify never fails a call: what it tells of has happened.
func notify(method string, params any) {
	n := abi.Notification{Method: method}
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			sdk.Log(sdk.LevelDebug, "%s: %v", method, err)
			return
		}
		n.Params = raw
	}
	if err := sdk.HostCall(abi.OpNotify, n, nil); err != nil {
		sdk.Log(sdk.LevelDebug, "%s: %v", method, err)
	}
}
