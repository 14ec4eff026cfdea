package gateway

import (
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// notificationMembers are the members that must be unique in notifications that are passed on unchanged: see call.Unique.
var notificationMembers = map[string][]string{
	methodProgress:                        {"progressToken", "progress", "total", "message", "_meta"},
	methodMessage:                         {"level", "logger", "data", "_meta"},
	mcp.MethodNotificationResourceUpdated: {"uri", "_meta"},
}

// ambiguous describes the first of an object's known members that is ambiguous; "" if none is.
func ambiguous(object []byte, known []string) string {
	key, name := rawjson.Ambiguous(object, known...)
	if name == "" {
		return ""
	}
	return call.AmbiguousKey(key, name)
}
