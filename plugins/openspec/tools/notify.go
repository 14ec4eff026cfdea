package tools

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// announce tells the client that resources have changed, and that there are others than before. None of it
// is worth failing a call for that has done its work.
func announce(uris []string) {
	if len(uris) == 0 {
		return
	}
	for _, uri := range uris {
		send("notifications/resources/updated", map[string]string{"uri": uri})
	}
	send("notifications/resources/list_changed", nil)
}

func send(method string, params map[string]string) {
	notification := abi.Notification{Method: method}
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			sdk.Log(sdk.LevelDebug, "openspec: %s: %v", method, err)
			return
		}
		notification.Params = raw
	}
	if err := sdk.HostCall(abi.OpNotify, notification, nil); err != nil {
		sdk.Log(sdk.LevelDebug, "openspec: %v", err)
	}
}
