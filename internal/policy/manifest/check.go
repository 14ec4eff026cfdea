package manifest

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
)

// Check returns a problem for each schema of m that does not compile, and for each tool name that some clients refuse. Check takes
// some hundred times as long as Load. Builds and checks of plugins therefore call it, and the start of a server does not.
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
		check(i, "returns", t.Returns)
		if IsToolName(t.Name) && !IsPortableName(t.Name) {
			ps = append(ps, tomlfile.Problem{File: m.File, Line: t.Line, Key: fmt.Sprintf("tools[%d].name", i),
				What: fmt.Sprintf("%s is a tool name that some clients refuse", tomlfile.Quote(t.Name)), Remedy: PortableNames})
		}
	}
	return ps
}
