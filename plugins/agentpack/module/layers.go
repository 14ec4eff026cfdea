package module

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Layer says where a file of a composed module comes from: from the module itself, or from an overlay.
type Layer string

// The layers, from the lowest to the highest.
const (
	LayerUpstream Layer = "upstream" // the module itself
	LayerGlobal   Layer = "global"
	LayerMachine  Layer = "machine"
	LayerProject  Layer = "project"
)

// OverlayLayers are the layers above LayerUpstream, from the lowest to the highest.
var OverlayLayers = []Layer{LayerGlobal, LayerMachine, LayerProject}

// machinesDir is the directory that contains the machine layers. It is in the directory of the global layer.
const machinesDir = "machines"

// Layers locates the overlays that apply to a call. Most modules have no overlays, so Layers lists the directory of
// each layer once instead of looking for each overlay.
type Layers struct {
	Repo    string // the directory of the config repo
	Machine string // the id of the machine
	Project string // the id of the project
	names   map[Layer]map[string]bool
}

// NewLayers returns the Layers for one call. Layers caches lists of directories, so callers must not use it for more
// than one call.
func NewLayers(repo, machine, project string) Layers {
	return Layers{Repo: repo, Machine: machine, Project: project, names: map[Layer]map[string]bool{}}
}

// listNames returns the names in the directory of a layer. It returns false if the directory cannot be listed.
func (l Layers) listNames(scope Layer) (map[string]bool, bool) {
	if l.names == nil {
		return nil, false
	}
	if names, listed := l.names[scope]; listed {
		return names, true
	}
	entries, err := os.ReadDir(l.baseDir(scope))
	if err != nil && !filesystem.IsAbsent(err) {
		return nil, false // Dir then accesses the directory of each overlay, and returns the error
	}
	names := make(map[string]bool, len(entries))
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	if scope == LayerGlobal {
		delete(names, machinesDir)
	}
	l.names[scope] = names
	return names, true
}

// HasMachines reports whether any machine has a directory for overlays.
func (l Layers) HasMachines() bool {
	entries, err := os.ReadDir(filepath.Join(l.Repo, "overlays", machinesDir))
	return err == nil && slices.ContainsFunc(entries, os.DirEntry.IsDir)
}

// isEmpty reports whether a layer has no overlay of any module.
func (l Layers) isEmpty(scope Layer) bool {
	names, known := l.listNames(scope)
	return known && len(names) == 0
}

// baseDir returns the directory that contains all overlays of a layer.
func (l Layers) baseDir(scope Layer) string {
	switch scope {
	case LayerMachine:
		return filepath.Join(l.Repo, "overlays", machinesDir, l.Machine)
	case LayerProject:
		return filepath.Join(l.Repo, "projects", l.Project, "overlays")
	}
	return filepath.Join(l.Repo, "overlays")
}

// Candidates returns the directories in which the overlay of a module may be, in order of precedence: first the
// canonical directory, then the directories with names of older versions.
func (l Layers) Candidates(scope Layer, id string) []string {
	base, key := l.baseDir(scope), env.ModuleKey(id)
	dirs := []string{filepath.Join(base, key)}
	if uncut := env.UntruncatedModuleKey(id); uncut != key && len(uncut) < 256 {
		dirs = append(dirs, filepath.Join(base, uncut))
	}
	if env.IsPathComponent(id) && !(scope == LayerGlobal && id == machinesDir) && len(id) < 256 {
		dirs = append(dirs, filepath.Join(base, id))
	}
	return dirs
}

// Dir returns the directory of a module's overlay. If none of the Candidates exists, Dir returns the canonical
// directory and false. It ignores a candidate that is not a directory; Check reports such a candidate.
func (l Layers) Dir(scope Layer, id string) (dir string, exists bool, err error) {
	candidates := l.Candidates(scope, id)
	names, known := l.listNames(scope)
	for _, candidate := range candidates {
		if known && !names[filepath.Base(candidate)] {
			continue
		}
		kind, err := disk.Stat(candidate)
		if err != nil {
			return "", false, fmt.Errorf("overlay (%s) of module %s: %w", scope, id, fault.IO(candidate, err))
		}
		if kind == disk.Directory {
			return candidate, true, nil
		}
	}
	return candidates[0], false, nil
}
