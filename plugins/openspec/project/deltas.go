package project

import (
	"fmt"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/unified"
)

// deltaFile is a change's delta for one capability.
type deltaFile struct {
	id     string
	source string // as on disk
	parsed *delta.Delta
}

// readDeltas reads all delta files of a change, sorted by capability, and returns the paths of the
// other files next to them.
func readDeltas(c store.Change) (files []deltaFile, loose []string, err error) {
	ids, loose, err := c.Deltas()
	if err != nil {
		return nil, nil, err
	}
	files = make([]deltaFile, 0, len(ids))
	for _, id := range ids {
		source, _, err := c.ReadDelta(id)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, deltaFile{id, source, delta.Parse(text(source))})
	}
	return files, loose, nil
}

// deltaViews returns the views of one delta file.
func deltaViews(root *store.Root, file deltaFile, diff bool) ([]DeltaView, error) {
	var views []DeltaView
	add := func(operation, verb string, blocks []requirement.Block) {
		for _, block := range blocks {
			one := spec.FromBlock(block)
			views = append(views, DeltaView{
				Spec:         file.id,
				Operation:    operation,
				Description:  verb + " requirement: " + one.Text,
				Requirement:  &one,
				Requirements: []spec.Requirement{one},
			})
		}
	}
	add("ADDED", "Add", file.parsed.Added)
	modified := len(views)
	add("MODIFIED", "Modify", file.parsed.Modified)
	if diff && len(file.parsed.Modified) > 0 {
		if err := addDiffs(root, file, views[modified:]); err != nil {
			return nil, err
		}
	}
	add("REMOVED", "Remove", file.parsed.Removed)
	for _, pair := range file.parsed.Renamed {
		views = append(views, DeltaView{
			Spec:        file.id,
			Operation:   "RENAMED",
			Description: fmt.Sprintf(`Rename requirement from "%s" to "%s"`, pair.From, pair.To),
			Rename:      &RenameView{pair.From, pair.To},
		})
	}
	return views, nil
}

// addDiffs adds to each modified requirement its diff, or why there is none.
func addDiffs(root *store.Root, file deltaFile, views []DeltaView) error {
	source, found, err := root.ReadSpec(file.id)
	if err != nil {
		return err
	}
	current, folded := map[string]requirement.Block{}, map[string]string{}
	for _, block := range spec.Divide(text(source)).Blocks {
		if _, twice := current[block.Name]; twice {
			continue
		}
		current[block.Name] = block
		folded[requirement.Fold(block.Name)] = block.Name
	}
	for _, pair := range file.parsed.Renamed {
		if block, ok := current[pair.From]; ok {
			current[pair.To] = block
		}
	}
	for i, block := range file.parsed.Modified {
		old, known := current[block.Name]
		near, alike := folded[requirement.Fold(block.Name)]
		if alike && !known {
			old, known = current[near], true
			views[i].Warning = fmt.Sprintf(`Header differs from the main spec's "%s" only in case or spacing; archive matches names exactly, so reconcile them before archiving`, near)
		}
		hunks, ok := "", true
		if known {
			hunks, ok = unified.Diff(old.Raw(), block.Raw())
			hunks = markdown.TrimRight(hunks) // as the command line does, even if the last line is blank
		}
		switch {
		case !found:
			views[i].Warning = fmt.Sprintf(`No main spec at openspec/specs/%s/spec.md, so MODIFIED requirement "%s" has nothing to diff against`, file.id, block.Name)
		case !known:
			views[i].Warning = fmt.Sprintf(`No matching main requirement found for "%s" in %s`, block.Name, file.id)
		case !ok:
			views[i].Warning = fmt.Sprintf(`MODIFIED requirement "%s" differs from the main spec in too many lines to compare them`, block.Name)
		default:
			views[i].Diff = &hunks
		}
	}
	return nil
}

// hasSections reports whether a text has a delta section.
func hasSections(source string) bool {
	return len(delta.Parse(text(source)).Sections) > 0
}

// expected returns the correct path of a misplaced delta, relative to a change's specs directory.
func expected(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir + "/spec.md"
	}
	return strings.TrimSuffix(file, path.Ext(file)) + "/spec.md"
}
