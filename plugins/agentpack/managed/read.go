package managed

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/desired"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
)

// maxSize is the largest manifest that is read, in bytes.
const maxSize = 16 << 20

// Folder is a root with what its manifest says.
type Folder struct {
	desired.Root
	Usable bool    // there is a manifest that counts
	Files  []Entry // its valid entries, by path
}

// File returns the absolute path of an entry of the folder's.
func (f Folder) File(entry Entry) desired.Key {
	return desired.Key{Target: f.Target, Path: filepath.Join(f.Path, filepath.FromSlash(entry.Path))}
}

// Read reads the manifests of roots. What makes one, or an entry of one, not count, is a warning.
func Read(roots []desired.Root) (folders []Folder, warnings []string) {
	for _, root := range roots {
		folder := Folder{Root: root}
		manifest, path, more := find(root)
		warnings = append(warnings, more...)
		if manifest != nil {
			folder.Usable = true
			folder.Files, more = valid(manifest.Files, path)
			warnings = append(warnings, more...)
		}
		folders = append(folders, folder)
	}
	return folders, warnings
}

// find reads a root's manifest: nil if there is none that counts.
func find(root desired.Root) (manifest *Manifest, path string, warnings []string) {
	path = Path(root)
	text, err := disk.Read(path, maxSize)
	if disk.Missing(err) {
		path = filepath.Join(root.Path, legacyName)
		text, err = disk.Read(path, maxSize)
		if disk.Missing(err) {
			return nil, path, nil
		}
		warnings = append(warnings, fmt.Sprintf("%s has the name that older versions gave; the next deploy writes %s", path, Path(root)))
	}
	if err == nil {
		manifest, err = Parse(text, root.Target)
	}
	if err != nil {
		return nil, path, append(warnings, fmt.Sprintf("target manifest %s is ignored: %s", path, err))
	}
	return manifest, path, warnings
}

// Parse reads the text of a manifest that has to be of one target.
func Parse(text []byte, target string) (*Manifest, error) {
	var manifest Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	if manifest.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("unsupported schema_version %d; only %d is read", manifest.SchemaVersion, SchemaVersion)
	}
	if manifest.Tool != target {
		return nil, fmt.Errorf("it is of the target %.40q, not %s", manifest.Tool, target)
	}
	return &manifest, nil
}

// valid returns the entries that name a file in the folder that can be deployed, by path.
func valid(entries []Entry, path string) (good []Entry, warnings []string) {
	seen := map[string]bool{}
	for _, entry := range entries {
		local := filepath.FromSlash(entry.Path)
		if !deployable(local) {
			warnings = append(warnings, fmt.Sprintf("%s: the entry %.200q is skipped: it does not name a file of the folder's", path, entry.Path))
			continue
		}
		entry.Path = filepath.ToSlash(filepath.Clean(local))
		if !seen[entry.Path] {
			seen[entry.Path] = true
			good = append(good, entry)
		}
	}
	slices.SortFunc(good, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return good, warnings
}

// deployable tells whether a relative path names a file in a folder, and none of agentpack's or git's own: nothing
// is ever deployed there, so a manifest that names one lies, and may have come with somebody else's project.
func deployable(path string) bool {
	foreign := slices.ContainsFunc(strings.Split(path, string(filepath.Separator)), func(part string) bool {
		return part == ".." || disk.IsOwn(part)
	})
	return filepath.IsLocal(path) && !foreign && filepath.Clean(path) != "." && !strings.ContainsRune(path, 0) && !IsOwn(filepath.Base(path))
}

// Paths returns the files that are managed, in order: those that the folders' manifests name. Only if they
// name none, fallback is asked for what the last deploy wrote, of which the targets' files count.
func Paths(folders []Folder, targets []string, fallback func() ([]desired.Key, error)) ([]desired.Key, error) {
	var keys []desired.Key
	for _, folder := range folders {
		for _, entry := range folder.Files {
			keys = append(keys, folder.File(entry))
		}
	}
	if len(keys) == 0 {
		last, err := fallback()
		if err != nil {
			return nil, err
		}
		keys = slices.DeleteFunc(last, func(key desired.Key) bool { return !slices.Contains(targets, key.Target) })
	}
	slices.SortFunc(keys, desired.Key.Compare)
	return slices.Compact(keys), nil
}
