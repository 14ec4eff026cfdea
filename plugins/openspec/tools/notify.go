package tools

import "github.com/bulkhead-mcp/bulkhead/sdk"

// announce notifies clients that resources and the list of resources have changed. It ignores errors, since the call
// itself has succeeded.
func announce(uris []string) {
	if len(uris) == 0 {
		return
	}
	for _, uri := range uris {
		told(sdk.ResourceUpdated(uri))
	}
	told(sdk.ResourcesChanged())
}

func told(err error) {
	if err != nil {
		sdk.Log(sdk.LevelDebug, "openspec: %v", err)
	}
}
