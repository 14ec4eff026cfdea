package dispatch

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// metaUndeclared is the key in the _meta of a result that lists the arguments that the tool's schema does not declare.
const metaUndeclared = "bulkhead/undeclared_arguments"

// withUndeclared returns a result that tells the client about undeclared arguments. The schema permits them, so the call is not refused.
func withUndeclared(result call.Result, undeclared []schema.Undeclared) (call.Result, error) {
	list, err := rawjson.Marshal(undeclared)
	if err != nil {
		return call.Result{}, err
	}
	return result.AddMeta(metaUndeclared, list), nil
}

// logUndeclared logs undeclared arguments, without their values.
func (q *queued) logUndeclared(undeclared []schema.Undeclared) {
	var names []string
	for _, u := range undeclared {
		text := visible.Name(u.Name)
		if u.Nearest != "" {
			text += " (did you mean " + visible.Name(u.Nearest) + "?)"
		}
		names = append(names, text)
	}
	q.plugin.Log.Warn("a call has arguments that the tool's schema does not declare", "tool", q.Name, "arguments", strings.Join(names, ", "))
}
