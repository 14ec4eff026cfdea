package requirement

import "github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"

// scenarioLevel is the level of the header of a scenario.
const scenarioLevel = 4

// Scenario describes a scenario of a requirement.
type Scenario struct {
	Name   string
	Filled bool // the scenario has content below its header
}

// Scenarios returns the scenarios of the block, which are its headers of level 4, with or without a title. A scenario
// ends at the next header of level 4 or a higher level.
func (b Block) Scenarios() []Scenario {
	text := b.Body()
	var all []Scenario
	for i := range text.Lines {
		if text.Level(i) != scenarioLevel {
			continue
		}
		title := markdown.TrimLeft(text.Lines[i][scenarioLevel:])
		body := text.Slice(i+1, text.NextHeader(i+1, scenarioLevel))
		all = append(all, Scenario{Name: scenarioName(title), Filled: markdown.Trim(body.String()) != ""})
	}
	return all
}

func scenarioName(title string) string {
	title = CleanName(title)
	if rest, ok := markdown.CutPrefixFold(title, "Scenario:"); ok {
		return markdown.Trim(rest)
	}
	return title
}

// Missing returns the names of those scenarios in want that are not in have, in the order of want. A name that occurs
// twice in want must also occur twice in have.
func Missing(want, have []Scenario) []string {
	left := map[string]int{}
	for _, one := range have {
		left[one.Name]++
	}
	var missing []string
	for _, one := range want {
		if left[one.Name] == 0 {
			missing = append(missing, one.Name)
			continue
		}
		left[one.Name]--
	}
	return missing
}
