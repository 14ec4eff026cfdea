package spec

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// FromBlock returns a delta's requirement as readers see it. A header of its own level or a higher one ends it; without a
// statement, its title is the statement.
func FromBlock(block requirement.Block) Requirement {
	body := block.Body()
	body = body.Slice(0, body.NextHeader(0, 3))
	one := Requirement{Text: requirement.Statement(body), Scenarios: []Scenario{}}
	if one.Text == "" {
		one.Text = "Requirement: " + block.Name
	}
	for _, scenario := range body.Sections() {
		if content := scenario.Content(); content != "" {
			one.Scenarios = append(one.Scenarios, Scenario{RawText: content})
		}
	}
	return one
}
