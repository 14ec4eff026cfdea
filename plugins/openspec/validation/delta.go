package validation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/merge"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

const (
	bareScenario = ` (a scenario header with no body under it does not count; add its steps, e.g. "- **WHEN** ..." and "- **THEN** ...")`
	moveOrphan   = `Move it under "## ADDED Requirements", "## MODIFIED Requirements", "## REMOVED Requirements", or "## RENAMED Requirements".`
	keepScenario = `Copy the omitted scenarios into the MODIFIED block (a MODIFIED requirement replaces the whole block, so archive refuses to drop them).`
)

// deltaIssues returns the issues of one delta file; the caller reports an empty delta. The argument current holds the
// requirements of the main spec. If current is nil, deltaIssues does not check for lost scenarios.
func deltaIssues(path string, d *delta.Delta, current *currentBlocks) []Issue {
	l := &list{path: path}
	for _, stray := range d.Strays {
		if stray.Unnamed {
			l.add(Info, stray.Line, `Header "### %s" in %s is missing a requirement name and is ignored by validation. Add a name, e.g. "### Requirement: <name>".`, stray.Title, stray.Section)
			continue
		}
		l.add(Info, stray.Line, `Header "### %s" in %s is not a "### Requirement:" header and is ignored by validation. Use "%s" if it should be validated as a requirement.`,
			stray.Title, stray.Section, requirement.Title(stray.Title))
	}
	for _, one := range d.Unpaired {
		l.add(Error, one.Line, `RENAMED %s: "%s" has no matching %s: line. Write each rename as a FROM: line followed immediately by its TO: line.`, one.Side, one.Name, one.Other())
	}
	for _, orphan := range d.Orphans {
		l.add(Warning, orphan.Line, `Requirement "%s" is %s, which is not a delta section, so it is ignored. %s`, orphan.Name, orphan.Place(), moveOrphan)
	}
	l.blocks("ADDED", d.Added)
	l.blocks("MODIFIED", d.Modified)
	for _, block := range d.Modified {
		l.loss(block, current)
	}
	l.repeated(d)
	l.conflicts(d)
	return l.issues
}

// blocks adds the issues of each requirement in a section.
func (l *list) blocks(section string, blocks []requirement.Block) {
	seen := map[string]bool{}
	for _, block := range blocks {
		key := requirement.Key(block.Name)
		if seen[key] {
			l.add(Error, 0, `Duplicate requirement in %s: "%s"`, section, block.Name)
		}
		seen[key] = true
		subject := fmt.Sprintf(`%s "%s"`, section, block.Name)
		switch statement := block.Statement(); {
		case statement == "" && requirement.HasKeyword(block.Name):
			l.add(Error, 0, "%s", noKeyword(subject, "must", block.Name))
		case statement == "":
			l.add(Error, 0, "%s is missing requirement text", subject)
		case !requirement.HasKeyword(statement):
			l.add(Warning, 0, "%s", noKeyword(subject, "should", block.Name))
		}
		if scenarios := block.Scenarios(); !slices.ContainsFunc(scenarios, func(one requirement.Scenario) bool { return one.Filled }) {
			help := ""
			if len(scenarios) > 0 {
				help = bareScenario
			}
			l.add(Error, 0, "%s must include at least one scenario%s", subject, help)
		}
	}
}

// loss adds an issue if a modified requirement lacks scenarios of the current requirement.
func (l *list) loss(block requirement.Block, current *currentBlocks) {
	old := current.find(requirement.Key(block.Name))
	if old == nil {
		return
	}
	if lost := merge.LostScenarios(*old, block); lost != nil {
		l.add(Error, 0, `MODIFIED "%s" omits scenario(s) the current spec still has: %s. %s %s`, block.Name, lost.Names(), lost.Balance(), keepScenario)
	}
}

func (l *list) repeated(d *delta.Delta) {
	seen := map[string]bool{}
	repeated := func(what, name string) {
		key := what + "\x00" + requirement.Key(name)
		if seen[key] {
			l.add(Error, 0, `Duplicate %s: "%s"`, what, name)
		}
		seen[key] = true
	}
	for _, block := range d.Removed {
		repeated("requirement in REMOVED", block.Name)
	}
	for _, pair := range d.Renamed {
		repeated("FROM in RENAMED", pair.From)
		repeated("TO in RENAMED", pair.To)
	}
}

func (l *list) conflicts(d *delta.Delta) {
	added, modified, removed := merge.Set(merge.Keys(d.Added)), merge.Set(merge.Keys(d.Modified)), merge.Set(merge.Keys(d.Removed))
	const both = `Requirement present in both %s: "%s"`
	for _, name := range unique(merge.Keys(d.Modified)) {
		if removed[name] {
			l.add(Error, 0, both, "MODIFIED and REMOVED", name)
		}
		if added[name] {
			l.add(Error, 0, both, "MODIFIED and ADDED", name)
		}
	}
	for _, name := range unique(merge.Keys(d.Added)) {
		if removed[name] {
			l.add(Error, 0, both, "ADDED and REMOVED", name)
		}
	}
	folded := merge.Folded(d.Removed)
	for _, pair := range d.Renamed {
		from, to := requirement.Key(pair.From), requirement.Key(pair.To)
		if modified[from] {
			l.add(Error, 0, `MODIFIED references old name from RENAMED. Use new header for "%s"`, pair.To)
		}
		if added[to] {
			l.add(Error, 0, `RENAMED TO collides with ADDED for "%s"`, pair.To)
		}
		name, gone := folded[requirement.Fold(from)]
		switch {
		case gone && name == from:
			l.add(Error, 0, both, "RENAMED and REMOVED", pair.From)
		case gone:
			l.add(Error, 0, both+` (REMOVED spells it "%s")`, "RENAMED and REMOVED", pair.From, name)
		}
	}
}

// unique returns names without duplicates, in order.
func unique(names []string) []string {
	seen := map[string]bool{}
	var once []string
	for _, name := range names {
		if !seen[name] {
			once = append(once, name)
		}
		seen[name] = true
	}
	return once
}

// emptySections returns the issue for a delta whose sections contain no requirements.
func emptySections(path string, sections []string) Issue {
	headers := make([]string, len(sections))
	for i, operation := range sections {
		headers[i] = "## " + operation + " " + spec.RequirementsTitle
	}
	return Issue{Level: Error, Path: path, Message: fmt.Sprintf(
		`Delta sections %s were found, but no requirement entries parsed. Ensure each section includes at least one "### Requirement:" block (REMOVED may use bullet list syntax).`, enumerate(headers))}
}

// enumerate joins words with commas and a conjunction, for a sentence.
func enumerate(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	case 2:
		return words[0] + " and " + words[1]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
