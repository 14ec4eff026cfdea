package spec

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// FromBlock returns a delta's requirement as readers see it. A header of its own level or a higher one ends it; without a
// statement, its title as written is the statement. Readers do not see one without a name: then ok is false.
func FromBlock(block requirement.Block) (one Requirement, ok bool) {
	if block.Name == "" {
		return Requirement{}, false
	}
	text := *block.Text
	if _, _, header := text.Header(0); !header { // no space behind the ###
		text.Lines = slices.Clone(text.Lines)
		text.Lines[0] = "### " + text.Lines[0][3:]
	}
	return fromSection(text.Sections()[0]), true
}
