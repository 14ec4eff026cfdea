// Package managed keeps, in each folder that a target writes into, the list of the files there that
// agentpack has written: the managed-file manifest. Read gives it, Encode writes it, and Paths tells which
// files of a call's targets are managed.
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

// SchemaVersion is the one form of manifest that is read and written.
const SchemaVersion = 1

// legacyName is the manifest's name from when a folder could belong to one target only.
const legacyName = ".agentpack.manifest.json"

// Manifest is what a folder's manifest file says.
type Manifest struct {
	SchemaVersion int             `json:"schema_version"`
	GeneratedAt   string          `json:"generated_at"` // RFC 3339
	Tool          string          `json:"tool"`         // the target
	SnapshotID    string          `json:"snapshot_id,omitempty"`
	Files         []ManifestEntry `json:"managed_files"`
}

// Entry is one file that agentpack has written. Path is relative to the folder, with slashes.
type ManifestEntry struct {
	Path    string   `json:"path"`
	SHA256  string   `json:"sha256"`
	Modules []string `json:"module_ids,omitempty"`
}

// Path is where the manifest of a target in a folder is.
func ManifestPath(root Root) string {
	return filepath.Join(root.Path, ".agentpack.manifest."+root.Target+".json")
}

// IsManifest tells whether a file's name is that of a manifest, of whatever target.
func IsManifest(name string) bool {
	return name == legacyName || strings.HasPrefix(name, ".agentpack.manifest.") && strings.HasSuffix(name, ".json")
}

// IsOwn tells whether a file's name is that of a manifest, or of a file that a deploy has not finished: neither
// belongs to the user.
func IsOwnFile(name string) bool { return IsManifest(name) || apply.IsTemporary(name) }

// For returns the manifest of a folder as a deploy leaves it: all files that the state wants there.
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
			continue // the owner holds the path, so it is relative to it
		}
		manifest.Files = append(manifest.Files, ManifestEntry{Path: filepath.ToSlash(relative), SHA256: file.SHA256, Modules: file.Modules})
	}
	slices.SortFunc(manifest.Files, func(a, b ManifestEntry) int { return strings.Compare(a.Path, b.Path) })
	return manifest
}

// Encode returns the manifest as the file's content.
func (m Manifest) Encode() ([]byte, error) {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(raw) >= maxManifest { // it would be ignored when it is read
		return nil, fmt.Errorf("the manifest of target %s would be larger than %d MiB: it lists %d files", m.Tool, maxManifest>>20, len(m.Files))
	}
	return append(raw, '\n'), nil
}
