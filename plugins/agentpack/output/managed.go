package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxManifest is the maximum size of a manifest, in bytes.
const maxManifest = 16 << 20

// ManagedDir is a root together with the entries of the root's manifest.
type ManagedDir struct {
	Root
	Usable bool            // the root has a valid manifest
	Files  []ManifestEntry // the valid entries of the manifest, sorted by path
}

// Key returns the key of the file that a manifest entry names.
func (f ManagedDir) Key(entry ManifestEntry) Key {
	return Key{Target: f.Target, Path: filepath.Join(f.Path, filepath.FromSlash(entry.Path))}
}

// ReadManifests reads the manifests in roots. It ignores invalid manifests and invalid entries, and returns a warning
// for each.
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

// findManifest reads the manifest of a root; it returns nil if the root has no valid manifest.
func findManifest(root Root) (manifest *Manifest, path string, warnings []string) {
	path = ManifestPath(root)
	if found, ok := disk.Derived(manifests, path, maxManifest); ok && found.valid && found.Tool == root.Target {
		return &found.Manifest, path, nil
	}
	text, err := disk.Read(path, maxManifest)
	if filesystem.IsAbsent(err) {
		path = filepath.Join(root.Path, legacyName)
		text, err = disk.Read(path, maxManifest)
		if filesystem.IsAbsent(err) {
			return nil, path, nil
		}
		warnings = append(warnings, fmt.Sprintf("target manifest %s has the file name of older versions; the next deploy writes %s", path, ManifestPath(root)))
	}
	if err == nil {
		manifest, err = ParseManifest(text, root.Target)
	}
	if err != nil {
		return nil, path, append(warnings, fmt.Sprintf("target manifest %s is ignored: %s", path, err))
	}
	return manifest, path, warnings
}

// ParseManifest decodes the text of a manifest. It returns an error if the manifest does not name the given target; the
// target "" accepts any name.
func ParseManifest(text []byte, target string) (*Manifest, error) {
	var manifest Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	if manifest.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("unsupported schema_version %d; only %d is supported", manifest.SchemaVersion, SchemaVersion)
	}
	if target != "" && manifest.Tool != target {
		return nil, fmt.Errorf("it is the manifest of the target %.40q, not of %s", manifest.Tool, target)
	}
	return &manifest, requireMembers(text)
}

// requireMembers returns an error if the JSON of a manifest lacks a required member.
func requireMembers(text []byte) error {
	var given struct {
		GeneratedAt *string `json:"generated_at"`
		Files       *[]struct {
			Path   *string `json:"path"`
			SHA256 *string `json:"sha256"`
		} `json:"managed_files"`
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	switch {
	case given.GeneratedAt == nil:
		return errors.New("generated_at is missing")
	case given.Files == nil:
		return errors.New("managed_files is missing")
	}
	for i, file := range *given.Files {
		if file.Path == nil || file.SHA256 == nil {
			return fmt.Errorf("path or sha256 of managed_files[%d] is missing", i)
		}
	}
	return nil
}

// validEntries returns the entries whose files agentpack can have deployed, sorted by path, and a warning for each
// other entry. The argument path is the path of the manifest.
func validEntries(entries []ManifestEntry, path string) (good []ManifestEntry, warnings []string) {
	seen := map[string]bool{}
	for _, entry := range entries {
		local := filepath.FromSlash(entry.Path)
		if !isDeployable(local) {
			warnings = append(warnings, fmt.Sprintf("target manifest %s: the entry %.200q is skipped: it does not name a deployable file of the directory", path, entry.Path))
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

// isDeployable reports whether agentpack can have deployed a file at path, which is relative to the root. The path must
// be inside the root, and not that of a file of git or of agentpack itself. A manifest in a project is untrusted, so it
// may contain forged paths.
func isDeployable(path string) bool {
	foreign := slices.ContainsFunc(strings.Split(path, string(filepath.Separator)), func(part string) bool {
		return part == ".." || disk.IsReservedName(part)
	})
	return filepath.IsLocal(path) && !foreign && filepath.Clean(path) != "." && !strings.ContainsRune(path, 0) && !IsOwnFile(filepath.Base(path))
}

// ManagedKeys returns the keys of the managed files, sorted. If the manifests list no files, it returns those files of
// the given targets that fallback returns.
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

// PrefixedSum returns a SHA-256 with the prefix that names the algorithm; nil for nil.
func PrefixedSum(sum *string) *string {
	if sum == nil {
		return nil
	}
	return new("sha256:" + *sum)
}
