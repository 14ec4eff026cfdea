package tools

import "github.com/bulkhead-mcp/bulkhead/sdk"

// announce tells clients that resources have changed, and that there are others than before. None of it is
// worth failing a call for that has done its work.
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
