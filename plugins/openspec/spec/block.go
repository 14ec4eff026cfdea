package spec

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// FromBlock returns a delta's requirement as Parse would read it from a main spec. The next header of its level or a higher
// one ends the requirement. If it has no statement, its title is the statement. Ok is false for a block without a name.
func FromBlock(block requirement.Block) (one Requirement, ok bool) {
	if block.Name == "" {
		return Requirement{}, false
	}
	text := *block.Text
	if _, _, header := text.Header(0); !header { // no space after the ###
		text.Lines = slices.Clone(text.Lines)
		text.Lines[0] = "### " + text.Lines[0][3:]
	}
	return fromSection(text.Sections()[0]), true
}
