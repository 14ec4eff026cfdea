package manifest

import "github.com/bulkhead-mcp/bulkhead/host/tomlfile"

// notYet are the keys that are read and checked, but that the host does not act on yet. Whoever makes it
// act on one deletes it here and in docs/manifest.md.
var notYet = map[string]string{
	"capabilities.http":        "nothing can be fetched",
	"capabilities.git.access":  "a repository can only be read",
	"capabilities.git.remotes": "no remote can be reached",
	"limits.fuel":              "instructions are not counted",
	"offers.prompts":           "no prompt is offered",
	"offers.resources":         "no resource is offered",
	"offers.subscribe":         "nothing can be subscribed to",
	"offers.completions":       "nothing is completed",
}

// pending warns if key of t is set and in notYet.
func pending(t *tomlfile.Table, key string, set bool) { pendingAs(t, t.Path(key), key, set) }

// pendingAs is pending for a table that an array holds, whose path has an index that name has not.
func pendingAs(t *tomlfile.Table, name, key string, set bool) {
	if effect, ok := notYet[name]; ok && set {
		t.Warn(key, "is not acted on yet: "+effect, "")
	}
}
