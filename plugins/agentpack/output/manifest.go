package output

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
)

// SchemaVersion is the only version of the manifest format that this plugin supports.
const SchemaVersion = 1

// legacyName is the file name of manifests in older versions, in which only one target could write into a directory.
const legacyName = ".agentpack.manifest.json"

// Manifest is the content of a target manifest, which lists the files in a root that agentpack has written.
type Manifest struct {
	SchemaVersion int             `json:"schema_version"`
	GeneratedAt   string          `json:"generated_at"` // RFC 3339
	Tool          string          `json:"tool"`         // the name of the target
	SnapshotID    string          `json:"snapshot_id,omitempty"`
	Files         []ManifestEntry `json:"managed_files"`
}

// ManifestEntry describes one file that agentpack has written. Path is relative to the root, with slashes.
type ManifestEntry struct {
	Path    string   `json:"path"`
	SHA256  string   `json:"sha256"`
	Modules []string `json:"module_ids,omitempty"`
}

// ManifestPath returns the path of the manifest in a root.
func ManifestPath(root Root) string {
	return filepath.Join(root.Path, ".agentpack.manifest."+root.Target+".json")
}

// IsManifest reports whether a file with this name is a manifest of any target.
func IsManifest(name string) bool {
	return name == legacyName || strings.HasPrefix(name, ".agentpack.manifest.") && strings.HasSuffix(name, ".json")
}

// IsOwnFile reports whether a file with this name is a manifest, or a temporary file of a transaction. Such a file does
// not belong to the user.
func IsOwnFile(name string) bool { return IsManifest(name) || apply.IsTemporary(name) }

// NewManifest returns the manifest of a root after a deploy. The manifest lists the desired files in the root.
func NewManifest(state *State, root Root, snapshot string, at time.Time) Manifest {
	manifest := Manifest{
		SchemaVersion: SchemaVersion, GeneratedAt: at.UTC().Format(time.RFC3339Nano),
		Tool: root.Target, SnapshotID: snapshot, Files: []ManifestEntry{},
	}
	for _, file := range state.Files {
		if owner, ok := state.Owner(file.Key); !ok || owner != root {
			continue
		}
		relative, err := filepath.Rel(root.Path, file.Path)
		if err != nil {
			continue // unreachable, because the root contains the path of the file
		}
		manifest.Files = append(manifest.Files, ManifestEntry{Path: filepath.ToSlash(relative), SHA256: file.SHA256, Modules: file.Modules})
	}
	slices.SortFunc(manifest.Files, func(a, b ManifestEntry) int { return strings.Compare(a.Path, b.Path) })
	return manifest
}

// Encode returns the content of the file that holds the manifest.
func (m Manifest) Encode() ([]byte, error) {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(raw) >= maxManifest { // ReadManifests would ignore a larger manifest
		return nil, fmt.Errorf("the manifest of target %s would be larger than %d MiB: it lists %d files", m.Tool, maxManifest>>20, len(m.Files))
	}
	return append(raw, '\n'), nil
}
