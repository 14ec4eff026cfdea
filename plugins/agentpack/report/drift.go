package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// DriftKind says how a file differs from the desired state.
type DriftKind string

const (
	Modified DriftKind = "modified"
	Missing  DriftKind = "missing"
	Extra    DriftKind = "extra"
)

// DriftItem describes a drifted file. Expected and Actual consist of "sha256:" and the SHA-256 in hexadecimal. Expected
// is nil if the file is not desired, and Actual is nil if the file does not exist.
type DriftItem struct {
	Target    string    `json:"target"`
	Root      string    `json:"root,omitempty"` // "" if no root contains the path
	RootPosix string    `json:"root_posix,omitempty"`
	Path      string    `json:"path"`
	PathPosix string    `json:"path_posix"`
	Expected  *string   `json:"expected"`
	Actual    *string   `json:"actual"`
	Kind      DriftKind `json:"kind"`

	Modules []string `json:"-"` // ids of the modules from which the file is or was generated
}

// Drift is the result that ScanDrift returns.
type Drift struct {
	Items     []DriftItem
	Warnings  []string
	Deployed  bool // at least one manifest is valid
	Unmanaged bool // at least one root with desired files has no valid manifest

	sums *disk.Sums
}

// ScanDrift compares the managed files with the files on disk. For a root without a manifest, it compares the desired
// files instead. The argument sums may contain scans of the disk. With extras, ScanDrift also finds unmanaged files in
// roots whose ScanExtras is set.
func ScanDrift(state *output.State, dirs []output.ManagedDir, sums *disk.Sums, extras bool) (Drift, error) {
	drift := Drift{sums: sums}
	for _, dir := range dirs {
		drift.Deployed = drift.Deployed || dir.Usable
	}
	if !drift.Deployed {
		drift.Unmanaged = true
		drift.Warnings = []string{"no usable target manifest was found: only desired files are compared with the disk, and extra files are not reported"}
		return drift, drift.compare(state, state.Files)
	}
	for _, dir := range dirs {
		if err := drift.scanDir(state, dir, extras); err != nil {
			return Drift{}, err
		}
	}
	return drift, nil
}

// scanDir finds the drifted files in one root.
func (d *Drift) scanDir(state *output.State, dir output.ManagedDir, extras bool) error {
	if !dir.Usable {
		var wanted []output.File
		for _, file := range state.Files {
			if owner, ok := state.Owner(file.Key); ok && owner == dir.Root {
				wanted = append(wanted, file)
			}
		}
		if len(wanted) > 0 {
			d.Unmanaged = true
			d.Warnings = append(d.Warnings, fmt.Sprintf("no usable target manifest %s: only the desired files of its directory are compared with the disk", output.ManifestPath(dir.Root)))
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

// compare compares desired files with the files on disk.
func (d *Drift) compare(state *output.State, files []output.File) error {
	for _, file := range files {
		if err := d.checkWanted(state, file, file.Modules); err != nil {
			return err
		}
	}
	return nil
}

func (d *Drift) checkWanted(state *output.State, file output.File, modules []string) error {
	actual, err := d.sums.Place(file.Path)
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

// checkEntry compares the file of a manifest entry with the file on disk.
func (d *Drift) checkEntry(state *output.State, dir output.ManagedDir, entry output.ManifestEntry) error {
	key := dir.Key(entry)
	if file, ok := state.File(key); ok {
		return d.checkWanted(state, *file, entry.Modules)
	}
	actual, err := d.sumIfPresent(key.Path)
	if err != nil {
		return err
	}
	if actual != nil {
		d.add(state, Extra, key, nil, actual, entry.Modules)
	}
	return nil
}

// findExtras adds the unmanaged files in a root to the drift.
func (d *Drift) findExtras(dir output.ManagedDir, listed map[string]bool) {
	items, err := d.sums.List(dir.Path)
	if filesystem.IsAbsent(err) {
		return
	}
	if err != nil {
		// A directory of the user can contain any files. The drift of managed files is valid even if the directory
		// cannot be listed.
		d.Warnings = append(d.Warnings, fmt.Sprintf("extra files in %s are not reported: %s", dir.Path, err))
		return
	}
	for _, item := range items {
		name := item.Path[strings.LastIndexByte(item.Path, '/')+1:]
		if item.Link || listed[item.Path] || output.IsOwnFile(name) {
			continue
		}
		key := dir.Key(output.ManifestEntry{Path: item.Path})
		if !utf8.ValidString(item.Path) { // JSON cannot represent the path
			d.Warnings = append(d.Warnings, fmt.Sprintf("%q is not reported as an extra file, because its name is not UTF-8: rename it", key.Path))
			continue
		}
		actual, err := d.sumIfPresent(key.Path)
		if err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s may be an extra file, but cannot be read: %s", key.Path, err))
			continue
		}
		if actual == nil {
			continue // another process has removed the file since it was listed
		}
		found := newItem(Extra, key, nil, actual)
		found.Root, found.RootPosix = dir.Path, filepath.ToSlash(dir.Path)
		d.Items = append(d.Items, found)
	}
}

// sumIfPresent returns the SHA-256 of the file at path in hexadecimal; nil if the file does not exist.
func (d *Drift) sumIfPresent(path string) (*string, error) {
	actual, err := d.sums.File(path)
	if filesystem.IsAbsent(err) {
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
		Expected: output.PrefixedSum(expected), Actual: output.PrefixedSum(actual),
	}
}
