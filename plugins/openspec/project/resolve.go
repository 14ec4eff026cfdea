package project

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// Kind is the kind of an item, which is a change or a main spec.
type Kind string

// The kinds of items. In a request, an empty kind selects items of either kind.
const (
	KindChange Kind = "change"
	KindSpec   Kind = "spec"
)

// maxSuggestions is the maximum number of suggestions for a name that does not exist.
const maxSuggestions = 5

// checkName returns an error for a name that no item can have. Callers call it before they look for the item.
func checkName(name string, kind Kind) error {
	if kind == KindSpec || kind == "" && strings.Contains(name, "/") {
		return store.CheckSpec(name)
	}
	return store.CheckChange(name)
}

// Item returns the root, and the kind of the item with the given name. The argument "kind" is the kind in the request,
// which may be empty.
func (p *Project) Item(name string, kind Kind) (*store.Root, RootInfo, Kind, error) {
	if err := checkName(name, kind); err != nil {
		if name != store.ArchiveName || kind != "" {
			return nil, RootInfo{}, "", err
		}
		// No change can be named "archive", but a spec can.
		if root, info, absent := p.Find(); absent == nil && hasSpec(root, name) {
			return root, info, KindSpec, nil
		}
		return nil, RootInfo{}, "", err
	}
	root, info, err := p.Find()
	if errors.Is(err, store.ErrNoRoot) {
		if kind != "" {
			return nil, info, "", err
		}
		return nil, info, "", &Failure{Code: codeUnknown, Message: unknown(name, nil)}
	}
	if err == nil && kind == "" {
		kind, err = resolve(root, name)
	}
	return root, info, kind, err
}

// hasSpec reports whether the main spec with the given id exists. The id must be valid.
func hasSpec(root *store.Root, id string) bool {
	_, found, err := root.ReadSpec(id)
	return found && err == nil
}

// resolve returns the kind of the item called name.
func resolve(root *store.Root, name string) (Kind, error) {
	changes, err := root.Changes()
	if err != nil {
		return "", err
	}
	specs, err := root.Specs()
	if err != nil {
		return "", err
	}
	names := store.Names(changes)
	isChange, isSpec := slices.Contains(names, name), slices.Contains(specs, name)
	switch {
	case isChange && isSpec:
		return "", &Failure{
			Code:    codeAmbiguous,
			Message: fmt.Sprintf("Ambiguous item '%s' matches both a change and a spec.", name),
			Fix:     fmt.Sprintf(`Select one of them with type, as in openspec_show(name: "%s", type: "spec") (--type change|spec).`, name),
		}
	case isChange:
		return KindChange, nil
	case isSpec:
		return KindSpec, nil
	}
	return "", &Failure{Code: codeUnknown, Message: unknown(name, append(names, specs...))}
}

// unknown returns the message for a name that does not exist. The message suggests similar names in all.
func unknown(name string, all []string) string {
	message := fmt.Sprintf("Unknown item '%s'.", name)
	if len(all) == 0 {
		return message
	}
	distances := map[string]int{}
	for _, one := range all {
		distances[one] = distance(name, one)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return message + " Did you mean: " + strings.Join(all[:min(len(all), maxSuggestions)], ", ") + "?"
}

// distance returns the Levenshtein distance between a and b, in characters.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			replace := diagonal
			if x != y {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
