package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// Whether clients hear of a change is the host's to decide, which knows what was announced to them. That
// they do not never fails a call: what it tells of has happened.

// maxUpdated is for how many resources one call can say that they hold something else. Of more, clients hear
// that the list has changed.
const maxUpdated = 256

// changed tells clients that the list of a kind is another.
func changed(kind item.Kind) {
	if kind == item.Prompt {
		told(sdk.PromptsChanged())
	} else {
		told(sdk.ResourcesChanged())
	}
}

// updated tells clients that those of the items that are resources hold something else, or nothing any more.
func updated(items ...item.Item) {
	count := 0
	for _, it := range items {
		if it.Kind != item.Resource {
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

// claimed asks the host which names and URIs other plugins serve under.
func claimed(prompts, uris []string) ([]string, error) {
	theirs, err := sdk.Claimed(sdk.Claims{Prompts: prompts, Resources: uris})
	return append(theirs.Prompts, theirs.Resources...), err
}
