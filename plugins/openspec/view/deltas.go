package view

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/unified"
)

// deltaViews returns a view of each changed requirement in one delta file.
func deltaViews(root *store.Root, file project.DeltaFile, diff bool) ([]DeltaView, error) {
	var views []DeltaView
	add := func(operation, verb string, blocks []requirement.Block) {
		for _, block := range blocks {
			one, ok := spec.FromBlock(block)
			if !ok {
				continue
			}
			views = append(views, DeltaView{
				Spec:         file.ID,
				Operation:    operation,
				Description:  verb + " requirement: " + one.Text,
				Requirement:  &one,
				Requirements: []spec.Requirement{one},
			})
		}
	}
	add("ADDED", "Add", file.Parsed.Added)
	modified := len(views)
	add("MODIFIED", "Modify", file.Parsed.Modified)
	if diff && len(file.Parsed.Modified) > 0 {
		if err := addDiffs(root, file, views[modified:]); err != nil {
			return nil, err
		}
	}
	add("REMOVED", "Remove", file.Parsed.Removed)
	for _, pair := range file.Parsed.Renamed {
		views = append(views, DeltaView{
			Spec:        file.ID,
			Operation:   "RENAMED",
			Description: fmt.Sprintf(`Rename requirement from "%s" to "%s"`, pair.From, pair.To),
			Rename:      &RenameView{pair.From, pair.To},
		})
	}
	return views, nil
}

// addDiffs adds a diff to the view of each modified requirement, or the reason why the view has no diff.
func addDiffs(root *store.Root, file project.DeltaFile, views []DeltaView) error {
	source, _, err := root.ReadSpec(file.ID)
	if err != nil {
		return err
	}
	blocks := spec.Divide(markdown.ParseAny(source)).Blocks
	exact, folded := map[string]requirement.Block{}, map[string]requirement.Block{}
	for _, block := range slices.Backward(blocks) { // if several blocks have the same name, the first block is used
		exact[block.Name], folded[requirement.Fold(block.Name)] = block, block
	}
	oldNames := namesBeforeRenames(file.Parsed.Renamed)
	for i, block := range file.Parsed.Modified[:len(views)] {
		name := block.Name
		if old, renamed := oldNames[requirement.Fold(name)]; renamed {
			name = old
		}
		current, same := exact[name]
		near, alike := folded[requirement.Fold(name)]
		switch {
		case source == "":
			views[i].Warning = fmt.Sprintf(`No main spec at openspec/specs/%s/spec.md, so MODIFIED requirement "%s" has nothing to diff against`, file.ID, block.Name)
			continue
		case !alike:
			views[i].Warning = fmt.Sprintf(`No matching main requirement found for "%s" in %s`, name, file.ID)
			continue
		case !same:
			current = near
			views[i].Warning = fmt.Sprintf(`Header differs from the main spec's "%s" only in case or spacing; archive matches names exactly, so reconcile them before archiving`, near.Name)
		}
		hunks, ok := unified.Diff(current.Raw(), block.Raw())
		if !ok {
			views[i].Warning = fmt.Sprintf(`MODIFIED requirement "%s" differs from the main spec in too many lines to compare them`, block.Name)
			continue
		}
		hunks = markdown.TrimRight(hunks) // the openspec CLI trims the hunks, too, even if the last line is blank
		views[i].Diff = &hunks
	}
	return nil
}

// namesBeforeRenames returns the old name of each renamed requirement. The key is the folded form of the new name.
func namesBeforeRenames(renames []delta.Rename) map[string]string {
	old := map[string]string{}
	for _, pair := range renames {
		from := requirement.Fold(pair.From)
		name, renamed := old[from]
		if !renamed {
			name = pair.From
		}
		delete(old, from)
		old[requirement.Fold(pair.To)] = name
	}
	return old
}
