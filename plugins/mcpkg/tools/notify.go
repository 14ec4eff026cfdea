package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// The host decides which clients get a notification. A notification that fails does not fail the call: the change has
// already been made.

// maxUpdated bounds the notifications of updated resources in one call. For more resources, clients are notified only that
// the list has changed.
const maxUpdated = 256

// changed notifies clients that the list of a kind has changed.
func changed(kind item.Kind) {
	if kind == item.Prompt {
		told(sdk.PromptsChanged())
	} else {
		told(sdk.ResourcesChanged())
	}
}

// updated notifies clients that the resources among the items were changed or deleted.
func updated(items ...item.Item) {
	count := 0
	for _, it := range items {
		if it.Kind != item.Resource || it.URI == "" { // that of a damaged one is unknown
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

// claimed asks the host which names and URIs other plugins claim.
func claimed(prompts, uris []string) ([]string, error) {
	theirs, err := sdk.Claimed(sdk.Claims{Prompts: prompts, Resources: uris})
	return append(theirs.Prompts, theirs.Resources...), err
}
