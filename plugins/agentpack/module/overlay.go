package module

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/diff"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// metadataDir is the directory with the metadata of an overlay, which is not deployed.
const metadataDir = ".agentpack"

// Composed is a module with its overlays applied.
type Composed struct {
	Files    Tree
	Layers   map[string]Layer // the highest layer that contains the whole file; the key is the path of the file, and patches do not count
	Warnings []string         // warnings about files that an overlay changes and that have changed upstream, too
}

// overlay is the overlay of one module in one layer.
type overlay struct {
	module  string
	scope   Layer
	dir     string
	files   Tree     // the files of the overlay; the keys are paths in the module
	patches Tree     // the patches of the overlay; the keys are paths below .agentpack/patches
	skipped []string // warnings about files that are left out
}

// Compose applies the overlays of the module with the given id to the upstream files of the module.
func Compose(layers Layers, id string, upstream Tree) (*Composed, error) {
	composed := &Composed{Files: make(Tree, len(upstream)), Layers: make(map[string]Layer, len(upstream))}
	for path, content := range upstream {
		composed.Files[path], composed.Layers[path] = content, LayerUpstream
	}
	for _, scope := range OverlayLayers {
		if layers.isEmpty(scope) {
			continue
		}
		dir, exists, err := layers.Dir(scope, id)
		if err != nil {
			return nil, err
		}
		if !exists {
			continue
		}
		overlay, err := openOverlay(layers, id, scope, dir)
		if err != nil {
			return nil, err
		}
		warnings, err := overlay.driftWarnings(upstream)
		if err != nil {
			return nil, err
		}
		composed.Warnings = slices.Concat(composed.Warnings, overlay.skipped, warnings)
		if err := overlay.apply(composed); err != nil {
			return nil, err
		}
	}
	return composed, nil
}

// openOverlay reads the overlay in dir. It returns a fault if the files of the overlay do not match the kind of the
// overlay.
func openOverlay(layers Layers, id string, scope Layer, dir string) (*overlay, error) {
	overlay := &overlay{module: id, scope: scope, dir: dir}
	kind, err := ReadOverlayKind(dir)
	if err != nil {
		return nil, err
	}
	repo, err := disk.NewBound(layers.Repo)
	if err != nil {
		return nil, err
	}
	if overlay.files, overlay.skipped, err = ReadTree(dir, repo); err != nil {
		return nil, fmt.Errorf("overlay (%s) of module %s: %w", scope, id, fault.IO(dir, err))
	}
	patches, skipped, err := readPatches(dir, repo)
	if err != nil {
		return nil, fmt.Errorf("overlay (%s) of module %s: %w", scope, id, fault.IO(dir, err))
	}
	overlay.patches, overlay.skipped = patches, append(overlay.skipped, skipped...)
	problem := ""
	switch {
	case len(overlay.files) > 0 && len(overlay.patches) > 0:
		problem = "the overlay contains both files and patches; keep only files or only patches"
	case kind == KindDir && len(overlay.patches) > 0:
		problem = `the overlay_kind is "dir", but the overlay contains patches; set overlay_kind to "patch"`
	case kind == KindPatch && len(overlay.files) > 0:
		problem = `the overlay_kind is "patch", but the overlay contains files; set overlay_kind to "dir"`
	default:
		return overlay, nil
	}
	return nil, overlay.newFault(fault.ConfigInvalid, "", fault.Details{
		"override_files": overlay.files.Paths(), "patch_files": overlay.patches.Paths(),
		"hint": "an overlay contains either files or patches; patches are below .agentpack/patches",
	}, "%s", problem)
}

func readPatches(dir string, repo disk.Bound) (all Tree, skipped []string, err error) {
	all, skipped, err = ReadTree(filepath.Join(dir, metadataDir, "patches"), repo)
	if filesystem.IsAbsent(err) {
		return nil, nil, nil
	}
	for path := range all {
		if !strings.HasSuffix(strings.ToLower(path), ".patch") {
			delete(all, path)
		}
	}
	return all, skipped, err
}

// apply applies the overlay to composed, which is the result of the lower layers.
func (o *overlay) apply(composed *Composed) error {
	for path, content := range o.files {
		composed.Files[path], composed.Layers[path] = content, o.scope
	}
	for _, file := range o.patches.Paths() {
		target := strings.TrimSuffix(file, ".patch")
		base, ok := composed.Files[target]
		if !ok {
			return o.newFault(fault.ConfigInvalid, file, fault.Details{"relpath": target, "hint": "name the patch after an existing file of the module, with the suffix .patch"},
				"%s: the module has no file %s", file, target)
		}
		patched, err := diff.Apply(target, base, o.patches[file])
		if err != nil {
			return o.patchFault(file, target, err)
		}
		composed.Files[target] = patched
	}
	return nil
}

// patchTargets returns the paths of the files that the overlay patches.
func (o *overlay) patchTargets() []string {
	var targets []string
	for _, file := range o.patches.Paths() {
		targets = append(targets, strings.TrimSuffix(file, ".patch"))
	}
	return targets
}

// patchFault returns the fault for a patch that could not be applied.
func (o *overlay) patchFault(file, target string, err error) error {
	var failed *diff.ApplyError
	if !errors.As(err, &failed) {
		return o.newFault(fault.ConfigInvalid, file, fault.Details{"relpath": target, "hint": "replace the patch by a unified diff of exactly this file"}, "%s: %w", file, err)
	}
	return o.newFault(fault.OverlayPatchApplyFailed, file, fault.Details{
		"relpath": target, "stderr": failed.Stderr,
		"hint": "the file has changed since the patch was made: replace the patch, or use an overlay of the kind dir",
	}, "the patch %s does not apply to %s: %w", file, target, err)
}

// newFault returns a fault about the overlay. If file is not "", the fault is about the patch in that file.
func (o *overlay) newFault(code fault.Code, file string, details fault.Details, format string, arguments ...any) error {
	details["module_id"], details["scope"] = o.module, string(o.scope)
	details["overlay_dir"], details["overlay_dir_posix"] = o.dir, filepath.ToSlash(o.dir)
	if file != "" {
		details["patch_file"] = filepath.Join(o.dir, metadataDir, "patches", filepath.FromSlash(file))
	}
	return fault.New(code, details, "overlay (%s) of module %s: %w", o.scope, o.module, fmt.Errorf(format, arguments...))
}
