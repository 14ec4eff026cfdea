package spec

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// FromBlock returns a requirement of a delta in the form in which Parse would read it from a main spec. The next header
// of the same or a higher level ends the requirement. If the requirement has no statement, its title is the statement.
// The result ok is false for a block without a name.
func FromBlock(block requirement.Block) (one Requirement, ok bool) {
	if block.Name == "" {
		return Requirement{}, false
	}
	text := *block.Text
	if _, _, header := text.Header(0); !header { // no space follows the ###, so the line is not a header
		text.Lines = slices.Clone(text.Lines)
		text.Lines[0] = "### " + text.Lines[0][3:]
	}
	return fromSection(text.Sections()[0]), true
}
