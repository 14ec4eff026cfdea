package output

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
)

// maxSize is the largest manifest that is read, in bytes.
const maxManifest = 16 << 20

// Folder is a root with what its manifest says.
type ManagedDir struct {
	Root
	Usable bool            // there is a manifest that counts
	Files  []ManifestEntry // its valid entries, by path
}

// File returns the absolute path of an entry of the folder's.
func (f ManagedDir) Key(entry ManifestEntry) Key {
	return Key{Target: f.Target, Path: filepath.Join(f.Path, filepath.FromSlash(entry.Path))}
}

// Read reads the manifests of roots. What makes one, or an entry of one, not count, is a warning.
func ReadManifests(roots []Root) (dirs []ManagedDir, warnings []string) {
	for _, root := range roots {
		dir := ManagedDir{Root: root}
		manifest, path, more := findManifest(root)
		warnings = append(warnings, more...)
		if manifest != nil {
			dir.Usable = true
			dir.Files, more = validEntries(manifest.Files, path)
			warnings = append(warnings, more...)
		}
		dirs = append(dirs, dir)
	}
	return dirs, warnings
}

// find reads a root's manifest: nil if there is none that counts.
func findManifest(root Root) (manifest *Manifest, path string, warnings []string) {
	path = ManifestPath(root)
	text, err := disk.Read(path, maxManifest)
	if disk.IsMissing(err) {
		path = filepath.Join(root.Path, legacyName)
		text, err = disk.Read(path, maxManifest)
		if disk.IsMissing(err) {
			return nil, path, nil
		}
		warnings = append(warnings, fmt.Sprintf("%s has the name that older versions gave; the next deploy writes %s", path, ManifestPath(root)))
	}
	if err == nil {
		manifest, err = ParseManifest(text, root.Target)
	}
	if err != nil {
		return nil, path, append(warnings, fmt.Sprintf("target manifest %s is ignored: %s", path, err))
	}
	return manifest, path, warnings
}

// Parse reads the text of a manifest that has to be of one target.
func ParseManifest(text []byte, target string) (*Manifest, error) {
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
func validEntries(entries []ManifestEntry, path string) (good []ManifestEntry, warnings []string) {
	seen := map[string]bool{}
	for _, entry := range entries {
		local := filepath.FromSlash(entry.Path)
		if !isDeployable(local) {
			warnings = append(warnings, fmt.Sprintf("%s: the entry %.200q is skipped: it does not name a file of the folder's", path, entry.Path))
			continue
		}
		entry.Path = filepath.ToSlash(filepath.Clean(local))
		if !seen[entry.Path] {
			seen[entry.Path] = true
			good = append(good, entry)
		}
	}
	slices.SortFunc(good, func(a, b ManifestEntry) int { return strings.Compare(a.Path, b.Path) })
	return good, warnings
}

// deployable tells whether a relative path names a file in a folder, and none of agentpack's or git's own: nothing
// is ever deployed there, so a manifest that names one lies, and may have come with somebody else's project.
func isDeployable(path string) bool {
	foreign := slices.ContainsFunc(strings.Split(path, string(filepath.Separator)), func(part string) bool {
		return part == ".." || disk.IsReservedName(part)
	})
	return filepath.IsLocal(path) && !foreign && filepath.Clean(path) != "." && !strings.ContainsRune(path, 0) && !IsOwnFile(filepath.Base(path))
}

// Paths returns the files that are managed, in order: those that the folders' manifests name. Only if they
// name none, fallback is asked for what the last deploy wrote, of which the targets' files count.
func ManagedKeys(dirs []ManagedDir, targets []string, fallback func() ([]Key, error)) ([]Key, error) {
	var keys []Key
	for _, dir := range dirs {
		for _, entry := range dir.Files {
			keys = append(keys, dir.Key(entry))
		}
	}
	if len(keys) == 0 {
		last, err := fallback()
		if err != nil {
			return nil, err
		}
		keys = slices.DeleteFunc(last, func(key Key) bool { return !slices.Contains(targets, key.Target) })
	}
	slices.SortFunc(keys, Key.Compare)
	return slices.Compact(keys), nil
}
