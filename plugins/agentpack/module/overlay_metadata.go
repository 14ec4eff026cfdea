package module

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxMetadata is the maximum size of a metadata file, in bytes.
const maxMetadata = 4 << 20

// OverlayKind says how an overlay changes a module.
type OverlayKind string

// The kinds of overlays. An overlay of KindDir contains files that replace files of the module, or that the overlay
// adds to the module. An overlay of KindPatch contains patches.
const (
	KindDir   OverlayKind = "dir"
	KindPatch OverlayKind = "patch"
)

// ReadOverlayKind reads the kind of an overlay from the metadata in dir. If there is no metadata, it returns KindDir.
func ReadOverlayKind(dir string) (OverlayKind, error) {
	path := filepath.Join(dir, metadataDir, "overlay.json")
	text, err := disk.Read(path, maxMetadata)
	if filesystem.IsAbsent(err) {
		return KindDir, nil
	}
	if err != nil {
		return "", fault.IO(path, err)
	}
	kind, err := parseKind(text)
	if err != nil {
		return "", fault.New(fault.ConfigInvalid, fault.Details{
			"overlay_dir": dir, "overlay_dir_posix": filepath.ToSlash(dir), "meta_path": path, "meta_path_posix": filepath.ToSlash(path),
			"hint": `write {"overlay_kind":"dir"} or {"overlay_kind":"patch"}, or delete the file`,
		}, "%s: %w", path, err)
	}
	return kind, nil
}

func parseKind(text []byte) (OverlayKind, error) {
	var meta struct {
		Kind *OverlayKind `json:"overlay_kind"`
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return "", err
	}
	switch {
	case meta.Kind == nil:
		return KindDir, nil
	case *meta.Kind == KindDir, *meta.Kind == KindPatch:
		return *meta.Kind, nil
	}
	return "", fmt.Errorf("overlay_kind %.40q is neither dir nor patch", *meta.Kind)
}

// baseline describes the upstream files of a module at the time when the overlay was created.
type baseline struct {
	SHA256 *string         `json:"upstream_sha256"`
	Files  *[]baselineFile `json:"file_manifest"`
}

type baselineFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

func parseBaseline(text []byte) (map[string]string, string, error) {
	var decoded baseline
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, "", err
	}
	if decoded.SHA256 == nil || decoded.Files == nil {
		return nil, "", fmt.Errorf("upstream_sha256 or file_manifest is missing")
	}
	files := make(map[string]string, len(*decoded.Files))
	for _, file := range *decoded.Files {
		files[file.Path] = file.SHA256
	}
	return files, *decoded.SHA256, nil
}

// driftWarnings returns warnings about files that the overlay changes and that have changed upstream since the overlay
// was created.
func (o *overlay) driftWarnings(upstream Tree) ([]string, error) {
	path := filepath.Join(o.dir, metadataDir, "baseline.json")
	text, err := disk.Read(path, maxMetadata)
	if filesystem.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.IO(path, err)
	}
	sums, treeHash, err := parseBaseline(text)
	if err != nil {
		return nil, fmt.Errorf("overlay (%s) of module %s: %s: %w", o.scope, o.module, path, err)
	}
	var warnings []string
	warn := func(what string) {
		warnings = append(warnings, fmt.Sprintf("overlay (%s) of module %s: %s; check whether the overlay is still correct", o.scope, o.module, what))
	}
	for _, file := range slices.Concat(o.files.Paths(), o.patchTargets()) {
		current, exists := upstream[file]
		baseline, known := sums[file]
		switch {
		case known && !exists:
			warn(file + " is no longer in the module")
		case exists && !strings.EqualFold(baseline, digest.Hex(current)):
			warn(file + " has changed in the module")
		}
	}
	if len(warnings) == 0 && !strings.EqualFold(treeHash, upstream.Hash()) {
		warn("other files of the module have changed")
	}
	return warnings, nil
}

// Check returns warnings about the overlays of a module in all layers. It warns if several candidate directories exist,
// if a candidate is not a directory, and if metadata names another module.
func (l Layers) Check(id string) []string {
	var warnings []string
	for _, scope := range OverlayLayers {
		var dirs []string
		names, known := l.listNames(scope)
		for _, dir := range l.Candidates(scope, id) {
			if known && !names[filepath.Base(dir)] {
				continue
			}
			kind, err := disk.Stat(dir)
			switch {
			case err != nil:
				warnings = append(warnings, fmt.Sprintf("overlay layout (%s) module %s: %s", scope, id, err))
			case kind == disk.Directory:
				dirs = append(dirs, dir)
			case kind != disk.Absent:
				warnings = append(warnings, fmt.Sprintf("overlay layout (%s) module %s: %s is not a directory", scope, id, dir))
			}
		}
		if len(dirs) > 1 {
			warnings = append(warnings, fmt.Sprintf("overlay layout (%s) module %s: candidates are %s; %s has precedence",
				scope, id, strings.Join(dirs, ", "), dirs[0]))
		}
		for _, dir := range dirs {
			if mismatch := moduleIDMismatch(dir, id); mismatch != "" {
				warnings = append(warnings, fmt.Sprintf("overlay metadata (%s) module %s: %s", scope, id, mismatch))
			}
		}
	}
	return warnings
}

// moduleIDMismatch returns a warning if the metadata of the overlay in dir names another module than id; otherwise "".
func moduleIDMismatch(dir, id string) string {
	path := filepath.Join(dir, metadataDir, "module_id")
	text, err := disk.Read(path, maxMetadata)
	switch {
	case filesystem.IsAbsent(err):
		return ""
	case err != nil:
		return err.Error()
	case strings.TrimSpace(string(text)) != id:
		return fmt.Sprintf("%s names another module, %.80q", path, strings.TrimSpace(string(text)))
	}
	return ""
}
