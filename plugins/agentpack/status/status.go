// Package status finds out how far the disk is from what a config repo wants and from what was last deployed.
// Scan returns the drift; Report puts it in the form of the payload.
package status

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/desired"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/managed"
)

// Kind is how a file differs.
type Kind string

// The kinds of drift.
const (
	Modified Kind = "modified"
	Missing  Kind = "missing"
	Extra    Kind = "extra"
)

// Item is one file that is not as it is meant to be. Expected and Actual are "sha256:" and the sum in
// hexadecimal; nil where no file is meant to be, or is, there.
type Item struct {
	Target    string  `json:"target"`
	Root      string  `json:"root,omitempty"` // "" where none holds the path
	RootPosix string  `json:"root_posix,omitempty"`
	Path      string  `json:"path"`
	PathPosix string  `json:"path_posix"`
	Expected  *string `json:"expected"`
	Actual    *string `json:"actual"`
	Kind      Kind    `json:"kind"`

	Modules []string `json:"-"` // the modules that the file is, or was, made of
}

// Drift is what a scan found.
type Drift struct {
	Items    []Item
	Warnings []string
	Deployed bool // at least one manifest counts
	Unlisted bool // a manifest that is needed is not there
}

// Scan compares the files that are managed, and those that are wanted where nothing says what is managed, with
// the disk. With extras it also finds files that somebody else put into folders that are scanned.
func Scan(state *desired.State, folders []managed.Folder, extras bool) (Drift, error) {
	var drift Drift
	for _, folder := range folders {
		drift.Deployed = drift.Deployed || folder.Usable
	}
	if !drift.Deployed {
		drift.Unlisted = true
		drift.Warnings = []string{"no usable target manifest was found: what is wanted is compared with the disk, and extra files are not looked for"}
		return drift, drift.compare(state, state.Files)
	}
	for _, folder := range folders {
		if err := drift.scan(state, folder, extras); err != nil {
			return Drift{}, err
		}
	}
	return drift, nil
}

// scan looks through one folder.
func (d *Drift) scan(state *desired.State, folder managed.Folder, extras bool) error {
	if !folder.Usable {
		var wanted []desired.File
		for _, file := range state.Files {
			if owner, ok := state.Owner(file.Key); ok && owner == folder.Root {
				wanted = append(wanted, file)
			}
		}
		if len(wanted) > 0 {
			d.Unlisted = true
			d.Warnings = append(d.Warnings, fmt.Sprintf("there is no usable target manifest %s: what is wanted there is compared with the disk", managed.Path(folder.Root)))
		}
		return d.compare(state, wanted)
	}
	listed := map[string]bool{}
	for _, entry := range folder.Files {
		listed[entry.Path] = true
		if err := d.entry(state, folder, entry); err != nil {
			return err
		}
	}
	if extras && folder.ScanExtras {
		d.extras(folder, listed)
	}
	return nil
}

// compare looks at files that are wanted.
func (d *Drift) compare(state *desired.State, files []desired.File) error {
	for _, file := range files {
		if err := d.wanted(state, file, file.Modules); err != nil {
			return err
		}
	}
	return nil
}

func (d *Drift) wanted(state *desired.State, file desired.File, modules []string) error {
	actual, err := sum(file.Path)
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
func (d *Drift) entry(state *desired.State, folder managed.Folder, entry managed.Entry) error {
	key := folder.File(entry)
	if file, ok := state.File(key); ok {
		return d.wanted(state, *file, entry.Modules)
	}
	actual, err := sum(key.Path)
	if err != nil {
		return err
	}
	if actual != nil {
		d.add(state, Extra, key, nil, actual, entry.Modules)
	}
	return nil
}

// extras finds what nobody has deployed.
func (d *Drift) extras(folder managed.Folder, listed map[string]bool) {
	items, err := disk.List(folder.Path)
	if disk.Missing(err) {
		return
	}
	if err != nil {
		// A user's folder may hold anything; what is deployed there can be told all the same.
		d.Warnings = append(d.Warnings, fmt.Sprintf("extra files in %s are not looked for: %s", folder.Path, err))
		return
	}
	for _, item := range items {
		name := item.Path[strings.LastIndexByte(item.Path, '/')+1:]
		if item.Link || listed[item.Path] || managed.IsOwn(name) {
			continue
		}
		key := folder.File(managed.Entry{Path: item.Path})
		actual, err := sum(key.Path)
		if err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("whether %s is an extra file is not said: %s", key.Path, err))
			continue
		}
		if actual == nil {
			continue // it has gone since it was listed
		}
		found := newItem(Extra, key, nil, actual)
		found.Root, found.RootPosix = folder.Path, filepath.ToSlash(folder.Path)
		d.Items = append(d.Items, found)
	}
}

// sum is the sum of the file at path; nil if there is none.
func sum(path string) (*string, error) {
	actual, err := disk.Sum(path)
	if disk.Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.IO(path, err)
	}
	return &actual, nil
}

func (d *Drift) add(state *desired.State, kind Kind, key desired.Key, expected, actual *string, modules []string) {
	found := newItem(kind, key, expected, actual)
	found.Modules = modules
	if root, ok := state.Owner(key); ok {
		found.Root, found.RootPosix = root.Path, filepath.ToSlash(root.Path)
	}
	d.Items = append(d.Items, found)
}

func newItem(kind Kind, key desired.Key, expected, actual *string) Item {
	return Item{
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
