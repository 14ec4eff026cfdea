// Package overlay puts what a config repo says of a module for everybody, for one machine and for one
// project over the module's own files. Compose does that; Layers tells where overlays are.
package module

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Layer is where a module's file comes from.
type Layer string

// The layers, the lowest first.
const (
	LayerUpstream Layer = "upstream" // the module itself
	LayerGlobal   Layer = "global"
	LayerMachine  Layer = "machine"
	LayerProject  Layer = "project"
)

// Scopes are the layers that are overlays, the lowest first.
var OverlayLayers = []Layer{LayerGlobal, LayerMachine, LayerProject}

// machines is the folder among the global overlays that holds those of machines.
const machinesDir = "machines"

// Layers says which overlays count in a call. Most modules have none, so what there is is listed once: see
// NewLayers.
type Layers struct {
	Repo    string // the config repo
	Machine string // the machine's id
	Project string // the project's id
	names   map[Layer]map[string]bool
}

// NewLayers returns the layers of one call, which remember what overlays there are.
func NewLayers(repo, machine, project string) Layers {
	return Layers{Repo: repo, Machine: machine, Project: project, names: map[Layer]map[string]bool{}}
}

// list returns the names in the folder of a scope's overlays; false if they are not known.
func (l Layers) listNames(scope Layer) (map[string]bool, bool) {
	if l.names == nil {
		return nil, false
	}
	if names, listed := l.names[scope]; listed {
		return names, true
	}
	entries, err := os.ReadDir(l.baseDir(scope))
	if err != nil && !disk.IsMissing(err) {
		return nil, false // looking at an overlay's folder itself tells what is wrong
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

// none tells whether a scope has no overlay of any module.
func (l Layers) isEmpty(scope Layer) bool {
	names, known := l.listNames(scope)
	return known && len(names) == 0
}

// base is the folder that holds the overlays of a scope.
func (l Layers) baseDir(scope Layer) string {
	switch scope {
	case LayerMachine:
		return filepath.Join(l.Repo, "overlays", machinesDir, l.Machine)
	case LayerProject:
		return filepath.Join(l.Repo, "projects", l.Project, "overlays")
	}
	return filepath.Join(l.Repo, "overlays")
}

// Candidates are the folders that can hold a module's overlay, the one that counts first: the canonical
// one, and those under names that older versions gave.
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

// Dir returns the folder of a module's overlay and whether it exists; the canonical one if none does. What is
// no folder is no overlay: Check warns of it.
func (l Layers) Dir(scope Layer, id string) (dir string, exists bool, err error) {
	candidates := l.Candidates(scope, id)
	names, known := l.listNames(scope)
	for _, folder := range candidates {
		if known && !names[filepath.Base(folder)] {
			continue
		}
		there, err := disk.Stat(folder)
		if err != nil {
			return "", false, fmt.Errorf("overlay (%s) of module %s: %w", scope, id, fault.IO(folder, err))
		}
		if there == disk.Directory {
			return folder, true, nil
		}
	}
	return candidates[0], false, nil
}
