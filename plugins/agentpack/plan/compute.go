package plan

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Compute returns the changes that turn the files on disk into the desired state. The argument managed holds the files
// that earlier deploys wrote, sorted, and sums may contain scans of the disk. If the resolved path of a file to change
// is outside the file's root, the error is a fault.
func Compute(state *output.State, managed []output.Key, sums *disk.Sums) (Plan, error) {
	c := computation{state: state, sums: sums, managed: managed, bounds: map[output.Root]disk.Bound{}}
	for _, file := range state.Files {
		if err := c.addWanted(file); err != nil {
			return Plan{}, err
		}
	}
	wanted := state.Files
	for _, key := range managed {
		for len(wanted) > 0 && wanted[0].Compare(key) < 0 {
			wanted = wanted[1:]
		}
		if len(wanted) > 0 && wanted[0].Key == key {
			continue
		}
		if err := c.addUnwanted(key); err != nil {
			return Plan{}, err
		}
	}
	slices.SortFunc(c.changes, func(a, b Change) int { return a.Key().Compare(b.Key()) })
	return Plan{Changes: append([]Change{}, c.changes...), Summary: summarize(c.changes)}, nil
}

type computation struct {
	state   *output.State
	sums    *disk.Sums
	managed []output.Key
	changes []Change
	bounds  map[output.Root]disk.Bound

	// The following fields are nil until isWantedElsewhere needs them.
	aliases   disk.Aliases    // the roots that are the same directory
	elsewhere map[string]bool // the canonical paths of the desired files
}

// addWanted adds the change of a desired file, if the file on disk differs.
func (c *computation) addWanted(file output.File) error {
	change, err := c.compare(file)
	if err != nil || change == nil {
		return err
	}
	root, ok := c.state.Owner(file.Key)
	if !ok {
		return fmt.Errorf("%s is in none of the directories of the target %s", file.Path, file.Target)
	}
	c.changes = append(c.changes, *change)
	return c.confine(root, file.Path)
}

// addUnwanted adds the removal of a managed file that is no longer desired. It ignores a file outside all roots, and a
// file that another target desires, maybe in a root which is the same directory.
func (c *computation) addUnwanted(key output.Key) error {
	root, owned := c.state.Owner(key)
	if !owned || c.isWantedElsewhere(root, key.Path) {
		return nil
	}
	sum, err := c.sums.File(key.Path)
	if filesystem.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return fault.IO(key.Path, err)
	}
	c.changes = append(c.changes, change(key, Delete, &sum, nil, "no longer managed"))
	return c.confine(root, key.Path)
}

// isWantedElsewhere reports whether the file at path is a desired file of another target. A symbolic link can make the
// roots of both targets the same directory.
func (c *computation) isWantedElsewhere(root output.Root, path string) bool {
	if c.elsewhere == nil {
		c.elsewhere = map[string]bool{}
		var dirs []string
		for _, root := range c.state.Roots {
			dirs = append(dirs, root.Path)
		}
		c.aliases = disk.NewAliases(filesystem.OS{}, dirs)
		for _, file := range c.state.Files {
			if owner, ok := c.state.Owner(file.Key); ok {
				c.elsewhere[c.aliases.Canonical(owner.Path, file.Path)] = true
			}
		}
	}
	return c.elsewhere[c.aliases.Canonical(root.Path, path)]
}

// confine returns a fault unless the resolved path is inside the root.
func (c *computation) confine(root output.Root, path string) error {
	if c.sums.IsPlain(path) {
		return nil
	}
	bound, known := c.bounds[root]
	if !known {
		var err error
		if bound, err = disk.NewBound(root.Path); err != nil {
			return err
		}
		c.bounds[root] = bound
	}
	return bound.RequireInside(path)
}

// compare returns the change of one file; nil if the file does not change.
func (c *computation) compare(file output.File) (*Change, error) {
	before, err := c.sums.Place(file.Path)
	if err != nil {
		return nil, err
	}
	if before == nil {
		created := change(file.Key, Create, nil, &file.SHA256, "file missing")
		return &created, nil
	}
	if *before == file.SHA256 {
		return nil, nil
	}
	updated := change(file.Key, Update, before, &file.SHA256, "content differs")
	updated.UpdateKind = ManagedUpdate
	if _, ok := slices.BinarySearchFunc(c.managed, file.Key, output.Key.Compare); !ok {
		updated.UpdateKind = AdoptUpdate
		updated.Reason = "would overwrite unmanaged existing file"
	}
	return &updated, nil
}

func change(key output.Key, op Op, before, after *string, reason string) Change {
	return Change{
		Target: key.Target, Op: op, Path: key.Path, PathPosix: filepath.ToSlash(key.Path),
		Before: before, After: after, Reason: reason,
	}
}

func summarize(changes []Change) Summary {
	var summary Summary
	for _, change := range changes {
		switch change.Op {
		case Create:
			summary.Create++
		case Update:
			summary.Update++
		case Delete:
			summary.Delete++
		}
	}
	return summary
}

// Adopts returns the paths of unmanaged files that the plan would overwrite, sorted.
func (p Plan) Adopts() []string {
	var paths []string
	for _, change := range p.Changes {
		if change.UpdateKind == AdoptUpdate {
			paths = append(paths, change.Path)
		}
	}
	slices.Sort(paths)
	return paths
}
