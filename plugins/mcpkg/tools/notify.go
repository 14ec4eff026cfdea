package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// The host decides which clients receive a notification. If a notification fails, the call still succeeds, because its
// change is already committed.

// maxUpdated is the maximum number of notifications about updated resources in one call. If a call updates more
// resources, the notification that the list has changed has to do for the others.
const maxUpdated = 256

// changed notifies clients that the list of prompts or the list of resources has changed.
func changed(kind item.Kind) {
	if kind == item.Prompt {
		told(sdk.PromptsChanged())
	} else {
		told(sdk.ResourcesChanged())
	}
}

// updated notifies clients of each resource among items, which are changed or deleted items.
func updated(items ...item.Item) {
	count := 0
	for _, it := range items {
		if it.Kind != item.Resource || it.URI == "" { // a deleted resource that was damaged has no URI
			continue
		}
		if count++; count > maxUpdated {
			return
		}
		told(sdk.ResourceUpdated(it.URI))
	}
}

func told(err error) {
	if err != nil {
		sdk.Log(sdk.LevelDebug, "%v", err)
	}
}

// claimed asks the host which of the given names and URIs other plugins claim.
func claimed(prompts, uris []string) ([]string, error) {
	theirs, err := sdk.Claimed(sdk.Claims{Prompts: prompts, Resources: uris})
	return append(theirs.Prompts, theirs.Resources...), err
}
