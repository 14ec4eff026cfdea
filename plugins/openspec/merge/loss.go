package merge

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// maxNamed is the maximum number of added scenarios that a message names.
const maxNamed = 3

// Loss describes the scenarios that a merge would drop because the modified requirement lacks them.
type Loss struct {
	missing  []string
	added    []string
	have     int // number of scenarios of the modified requirement
	required int // number of scenarios of the current requirement
}

// LostScenarios compares the scenarios of a requirement with those of the block that replaces the requirement. It
// returns nil if no scenario is lost.
func LostScenarios(current, modified requirement.Block) *Loss {
	want, have := current.Scenarios(), modified.Scenarios()
	missing := requirement.Missing(want, have)
	if len(missing) == 0 {
		return nil
	}
	return &Loss{missing: missing, added: requirement.Missing(have, want), have: len(have), required: len(want)}
}

// Names returns the names of the lost scenarios, quoted and separated by commas.
func (l *Loss) Names() string { return quoted(l.missing) }

// Balance returns two sentences that compare the numbers of scenarios in both requirements, and name the added
// scenarios.
func (l *Loss) Balance() string {
	adds := "It adds none."
	if n := len(l.added); n > 0 {
		named := quoted(l.added[:min(n, maxNamed)])
		if n > maxNamed {
			named += fmt.Sprintf(" and %d more", n-maxNamed)
		}
		adds = fmt.Sprintf("It adds %s not in the current spec: %s.", scenarios(n), named)
	}
	return fmt.Sprintf("The modified block has %s; the current spec has %s. %s", scenarios(l.have), scenarios(l.required), adds)
}

func scenarios(n int) string {
	if n == 1 {
		return "1 scenario"
	}
	return fmt.Sprintf("%d scenarios", n)
}

func quoted(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

// warnTail adds a warning if a removed or replaced entry contains a header that looks independent of the entry (see
// requirement.LooksIndependent). The merge loses the text from that header on.
func (m *merger) warnTail(one *entry) {
	old := one.block.Raw()
	if one.raw == old && !one.gone {
		return
	}
	lines := one.block.Text
	for i := 1; i < len(lines.Lines); i++ {
		if !requirement.LooksIndependent(lines, i) {
			continue
		}
		tail := markdown.Trim(lines.Slice(i, len(lines.Lines)).String())
		if one.gone || strings.Count(one.raw, tail) < strings.Count(old, tail) {
			m.warn("\"%s\" sits inside requirement \"%s\" and goes with it. Move it under its own requirement, or above `## Requirements`, to keep it.",
				markdown.Trim(lines.Lines[i]), one.block.Name)
		}
		return
	}
}
