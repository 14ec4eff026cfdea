// Package status finds out how far the disk is from what a config repo wants and from what was last deployed.
// Scan returns the drift; Report puts it in the form of the payload.
package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// Kind is how a file differs.
type DriftKind string

// The kinds of drift.
const (
	Modified DriftKind = "modified"
	Missing  DriftKind = "missing"
	Extra    DriftKind = "extra"
)

// Item is one file that is not as it is meant to be. Expected and Actual are "sha256:" and the sum in
// hexadecimal; nil where no file is meant to be, or is, there.
type DriftItem struct {
	Target    string    `json:"target"`
	Root      string    `json:"root,omitempty"` // "" where none holds the path
	RootPosix string    `json:"root_posix,omitempty"`
	Path      string    `json:"path"`
	PathPosix string    `json:"path_posix"`
	Expected  *string   `json:"expected"`
	Actual    *string   `json:"actual"`
	Kind      DriftKind `json:"kind"`

	Modules []string `json:"-"` // the modules that the file is, or was, made of
}

// Drift is what a scan found.
type Drift struct {
	Items    []DriftItem
	Warnings []string
	Deployed bool // at least one manifest counts
	Unlisted bool // a manifest that is needed is not there
}

// Scan compares the files that are managed, and those that are wanted where nothing says what is managed, with
// the disk. With extras it also finds files that somebody else put into folders that are scanned.
func ScanDrift(state *output.State, dirs []output.ManagedDir, extras bool) (Drift, error) {
	var drift Drift
	for _, dir := range dirs {
		drift.Deployed = drift.Deployed || dir.Usable
	}
	if !drift.Deployed {
		drift.Unlisted = true
		drift.Warnings = []string{"no usable target manifest was found: what is wanted is compared with the disk, and extra files are not looked for"}
		return drift, drift.compare(state, state.Files)
	}
	for _, dir := range dirs {
		if err := drift.scanDir(state, dir, extras); err != nil {
			return Drift{}, err
		}
	}
	return drift, nil
}

// scan looks through one folder.
func (d *Drift) scanDir(state *output.State, dir output.ManagedDir, extras bool) error {
	if !dir.Usable {
		var wanted []output.File
		for _, file := range state.Files {
			if owner, ok := state.Owner(file.Key); ok && owner == dir.Root {
				wanted = append(wanted, file)
			}
		}
		if len(wanted) > 0 {
			d.Unlisted = true
			d.Warnings = append(d.Warnings, fmt.Sprintf("there is no usable target manifest %s: what is wanted there is compared with the disk", output.ManifestPath(dir.Root)))
		}
		return d.compare(state, wanted)
	}
	listed := map[string]bool{}
	for _, entry := range dir.Files {
		listed[entry.Path] = true
		if err := d.checkEntry(state, dir, entry); err != nil {
			return err
		}
	}
	if extras && dir.ScanExtras {
		d.findExtras(dir, listed)
	}
	return nil
}

// compare looks at files that are wanted.
func (d *Drift) compare(state *output.State, files []output.File) error {
	for _, file := range files {
		if err := d.checkWanted(state, file, file.Modules); err != nil {
			return err
		}
	}
	return nil
}

func (d *Drift) checkWanted(state *output.State, file output.File, modules []string) error {
	actual, err := sumIfPresent(file.Path)
	if err != nil {
		return err
	}
	switch {
	case actual == nil:
		d.add(state, Missing, file.Key, &file.SHA256, nil, modules)
	case *actual != file.SHA256:
		d.add(state, Modified, file.Key, &file.SHA256, actual, modules)
	}
	return nil
}

// entry looks at a file that is managed.
func (d *Drift) checkEntry(state *output.State, dir output.ManagedDir, entry output.ManifestEntry) error {
	key := dir.Key(entry)
	if file, ok := state.File(key); ok {
		return d.checkWanted(state, *file, entry.Modules)
	}
	actual, err := sumIfPresent(key.Path)
	if err != nil {
		return err
	}
	if actual != nil {
		d.add(state, Extra, key, nil, actual, entry.Modules)
	}
	return nil
}

// extras finds what nobody has deployed.
func (d *Drift) findExtras(dir output.ManagedDir, listed map[string]bool) {
	items, err := disk.ListFiles(dir.Path)
	if disk.IsMissing(err) {
		return
	}
	if err != nil {
		// A user's folder may hold anything; what is deployed there can be told all the same.
		d.Warnings = append(d.Warnings, fmt.Sprintf("extra files in %s are not looked for: %s", dir.Path, err))
		return
	}
	for _, item := range items {
		name := item.Path[strings.LastIndexByte(item.Path, '/')+1:]
		if item.Link || listed[item.Path] || output.IsOwnFile(name) {
			continue
		}
		key := dir.Key(output.ManifestEntry{Path: item.Path})
		actual, err := sumIfPresent(key.Path)
		if err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("whether %s is an extra file is not said: %s", key.Path, err))
			continue
		}
		if actual == nil {
			continue // it has gone since it was listed
		}
		found := newItem(Extra, key, nil, actual)
		found.Root, found.RootPosix = dir.Path, filepath.ToSlash(dir.Path)
		d.Items = append(d.Items, found)
	}
}

// sum is the sum of the file at path; nil if there is none.
func sumIfPresent(path string) (*string, error) {
	actual, err := disk.SumFile(path)
	if disk.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.IO(path, err)
	}
	return &actual, nil
}

func (d *Drift) add(state *output.State, kind DriftKind, key output.Key, expected, actual *string, modules []string) {
	found := newItem(kind, key, expected, actual)
	found.Modules = modules
	if root, ok := state.Owner(key); ok {
		found.Root, found.RootPosix = root.Path, filepath.ToSlash(root.Path)
	}
	d.Items = append(d.Items, found)
}

func newItem(kind DriftKind, key output.Key, expected, actual *string) DriftItem {
	return DriftItem{
		Kind: kind, Target: key.Target, Path: key.Path, PathPosix: filepath.ToSlash(key.Path),
		Expected: prefixed(expected), Actual: prefixed(actual),
	}
}

func prefixed(sum *string) *string {
	if sum == nil {
		return nil
	}
	text := "sha256:" + *sum
	return &text
}
