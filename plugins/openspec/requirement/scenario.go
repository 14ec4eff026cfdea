package requirement

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// scenarioLevel is the level of a scenario's header.
const scenarioLevel = 4

// Scenarios returns the names of a block's scenarios: of its headers of level 4 that something follows
// before the next header of that level or a higher one. Bare tells whether there are others.
func (b Block) Scenarios() (names []string, bare bool) {
	text := b.Body()
	for i := range text.Lines {
		level, title, ok := text.Header(i)
		if !ok || level != scenarioLevel {
			continue
		}
		body := text.Slice(i+1, text.NextHeader(i+1, scenarioLevel))
		if markdown.Trim(body.String()) == "" {
			bare = true
			continue
		}
		names = append(names, scenarioName(title))
	}
	return names, bare
}

func scenarioName(title string) string {
	title = CleanName(title)
	if rest, ok := cutFold(title, "Scenario:"); ok {
		return markdown.Trim(rest)
	}
	return title
}

// Missing returns what of want is not in have, in want's order. A name that want has twice must be twice
// in have.
func Missing(want, have []string) []string {
	left := map[string]int{}
	for _, name := range have {
		left[name]++
	}
	var missing []string
	for _, name := range want {
		if left[name] == 0 {
			missing = append(missing, name)
			continue
		}
		left[name]--
	}
	return missing
}
