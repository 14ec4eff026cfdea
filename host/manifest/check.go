package manifest

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/host/schema"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Check tells which schemas of m do not compile. It is for a build or a check: it takes some hundred
// times as long as Load, which a server start can wait for.
func (m *Manifest) Check() tomlfile.Problems {
	var ps tomlfile.Problems
	check := func(i int, key string, raw json.RawMessage) {
		if raw == nil {
			return
		}
		if _, err := schema.Compile(raw); err != nil {
			ps = append(ps, tomlfile.Problem{File: m.File, Line: m.Tools[i].Line, Key: fmt.Sprintf("tools[%d].%s", i, key),
				What: err.Error(), Remedy: "write a JSON Schema (draft 2020-12)"})
		}
	}
	for i, t := range m.Tools {
		check(i, "input", t.Input)
		check(i, "output", t.Output)
	}
	return ps
}
