package manifest

import "github.com/bulkhead-mcp/bulkhead/host/tomlfile"

// notYet are the keys that are read and checked, but that the host does not act on yet. Whoever makes it
// act on one deletes it here and in docs/manifest.md.
var notYet = map[string]string{
	"offers.prompts":     "no prompt is offered",
	"offers.resources":   "no resource is offered",
	"offers.subscribe":   "nothing can be subscribed to",
	"offers.completions": "nothing is completed",
}

// pending warns if key of t is set and in notYet.
func pending(t *tomlfile.Table, key string, set bool) {
	if effect, ok := notYet[t.Path(key)]; ok && set {
		t.Warn(key, "is not acted on yet: "+effect, "")
	}
}
