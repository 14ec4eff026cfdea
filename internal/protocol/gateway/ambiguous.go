package gateway

import (
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Members that the gateway checks in objects that it passes on unchanged. An object in which such a member occurs
// twice, or beside a name that differs only in case, is refused: parsers differ in which of the two they use, so a
// client could read the one that was not checked.
var (
	resultMembers = []string{"_meta", "resultType", "content", "isError", "structuredContent", "description", "messages",
		"contents", "ttlMs", "cacheScope", "completion"}
	metaMembers       = []string{mcp.MetaKeyServerInfo, mcp.MetaKeySubscriptionID, "bulkhead/error"}
	contentMembers    = []string{"type", "text", "data", "mimeType", "resource", "uri", "name", "annotations", "_meta"}
	resourceMembers   = []string{"uri", "text", "blob", "mimeType", "_meta"}
	messageMembers    = []string{"role", "content"}
	completionMembers = []string{"values", "total", "hasMore"}

	notificationMembers = map[string][]string{
		methodProgress:                        {"progressToken", "progress", "total", "message", "_meta"},
		methodMessage:                         {"level", "logger", "data", "_meta"},
		mcp.MethodNotificationResourceUpdated: {"uri", "_meta"},
	}
)

// ambiguous describes the first of an object's known members that is ambiguous; "" if none is.
func ambiguous(object []byte, known []string) string {
	key, name := rawjson.Ambiguous(object, known...)
	if name == "" {
		return ""
	}
	return ambiguousKey(key, name)
}

func ambiguousKey(key, name string) string {
	if key == name {
		return name + " is given twice"
	}
	return bounded(key) + " differs from " + name + " only in case"
}
