package merge

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Refuse returns an error if a delta contradicts itself. It does not consider the main spec.
func Refuse(id string, d *delta.Delta) error {
	invalid := func(format string, arguments ...any) error {
		return fmt.Errorf("%s validation failed - %s", id, fmt.Sprintf(format, arguments...))
	}
	if len(d.Unpaired) > 0 {
		one := d.Unpaired[0]
		return invalid(`RENAMED entry on line %d has no matching %s: for header "%s". Write each rename as a FROM: line followed immediately by its TO: line.`,
			one.Line, one.Other(), requirement.Title(one.Name))
	}
	var from, to []string
	for _, pair := range d.Renamed {
		from, to = append(from, pair.From), append(to, pair.To)
	}
	for _, section := range []struct {
		what  string
		names []string
	}{
		{"requirement in ADDED", Names(d.Added)},
		{"requirement in MODIFIED", Names(d.Modified)},
		{"requirement in REMOVED", Names(d.Removed)},
		{"FROM in RENAMED", from},
		{"TO in RENAMED", to},
	} {
		if twice, found := duplicate(section.names); found {
			return invalid(`duplicate %s for header "%s"`, section.what, requirement.Title(twice))
		}
	}
	if err := conflict(d, invalid); err != nil {
		return err
	}
	if d.Entries() == 0 {
		return fmt.Errorf("Delta parsing found no operations for %s. Provide ADDED/MODIFIED/REMOVED/RENAMED sections in change spec.", id) //lint:ignore ST1005 the wording of the openspec CLI
	}
	return nil
}

func conflict(d *delta.Delta, invalid func(string, ...any) error) error {
	added, modified, removed := Set(Keys(d.Added)), Set(Keys(d.Modified)), Set(Keys(d.Removed))
	const both = `requirement present in multiple sections (%s) for header "%s"%s`
	folded := Folded(d.Removed)
	for _, pair := range d.Renamed {
		from, to := requirement.Key(pair.From), requirement.Key(pair.To)
		name, gone := folded[requirement.Fold(from)]
		switch {
		case gone:
			spelled := ""
			if name != from {
				spelled = fmt.Sprintf(` (REMOVED spells it "%s")`, name)
			}
			return invalid(both, "RENAMED and REMOVED", requirement.Title(pair.From), spelled)
		case modified[from]:
			return invalid(`when a rename exists, MODIFIED must reference the NEW header "%s"`, requirement.Title(pair.To))
		case added[to]:
			return invalid(`RENAMED TO header collides with ADDED for "%s"`, requirement.Title(pair.To))
		}
	}
	for _, name := range Keys(d.Modified) {
		if removed[name] {
			return invalid(both, "MODIFIED and REMOVED", requirement.Title(name), "")
		}
		if added[name] {
			return invalid(both, "MODIFIED and ADDED", requirement.Title(name), "")
		}
	}
	for _, name := range Keys(d.Added) {
		if removed[name] {
			return invalid(both, "ADDED and REMOVED", requirement.Title(name), "")
		}
	}
	return nil
}

// Folded returns the requirement.Key of each block; the key of the map is the folded form of the name. If several names have the same folded
// form, Folded returns the first of them.
func Folded(blocks []requirement.Block) map[string]string {
	names := map[string]string{}
	for _, block := range blocks {
		if folded := requirement.Fold(block.Name); names[folded] == "" {
			names[folded] = requirement.Key(block.Name)
		}
	}
	return names
}

// Names returns the names of the blocks, in order.
func Names(blocks []requirement.Block) []string {
	names := make([]string, len(blocks))
	for i, block := range blocks {
		names[i] = block.Name
	}
	return names
}

// Keys returns the requirement.Key of each block, in order.
func Keys(blocks []requirement.Block) []string {
	keys := Names(blocks)
	for i, name := range keys {
		keys[i] = requirement.Key(name)
	}
	return keys
}

// duplicate returns the first name whose requirement.Key occurs a second time.
func duplicate(names []string) (name string, found bool) {
	seen := map[string]bool{}
	for _, name := range names {
		key := requirement.Key(name)
		if seen[key] {
			return name, true
		}
		seen[key] = true
	}
	return "", false
}

// Set returns the set of the names.
func Set(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
