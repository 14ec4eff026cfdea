// Package overlay puts what a config repo says of a module for everybody, for one machine and for one
// project over the module's own files. Compose does that; Layers tells where overlays are.
package overlay

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/name"
)

// Layer is where a module's file comes from.
type Layer string

// The layers, the lowest first.
const (
	Upstream Layer = "upstream" // the module itself
	Global   Layer = "global"
	Machine  Layer = "machine"
	Project  Layer = "project"
)

// Scopes are the layers that are overlays, the lowest first.
var Scopes = []Layer{Global, Machine, Project}

// machines is the folder among the global overlays that holds those of machines.
const machines = "machines"

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

// mayHold tells whether there can be something at a candidate for an overlay's folder.
func (l Layers) mayHold(scope Layer, folder string) bool {
	if l.names == nil {
		return true
	}
	names, listed := l.names[scope]
	if !listed {
		entries, err := os.ReadDir(l.base(scope))
		if err != nil && !disk.Missing(err) {
			return true // looking at the folder itself tells what is wrong
		}
		names = make(map[string]bool, len(entries))
		for _, entry := range entries {
			names[entry.Name()] = true
		}
		l.names[scope] = names
	}
	return names[filepath.Base(folder)]
}

// base is the folder that holds the overlays of a scope.
func (l Layers) base(scope Layer) string {
	switch scope {
	case Machine:
		return filepath.Join(l.Repo, "overlays", machines, l.Machine)
	case Project:
		return filepath.Join(l.Repo, "projects", l.Project, "overlays")
	}
	return filepath.Join(l.Repo, "overlays")
}

// Candidates are the folders that can hold a module's overlay, the one that counts first: the canonical
// one, and those under names that older versions gave.
func (l Layers) Candidates(scope Layer, id string) []string {
	base := l.base(scope)
	folders := []string{filepath.Join(base, name.Key(id))}
	if uncut := name.UncutKey(id); uncut != name.Key(id) && len(uncut) < 256 {
		folders = append(folders, filepath.Join(base, uncut))
	}
	if name.Component(id) && !(scope == Global && id == machines) && len(id) < 256 {
		folders = append(folders, filepath.Join(base, id))
	}
	return folders
}

// Dir returns the folder of a module's overlay and whether it exists; the canonical one if none does. What is
// no folder is no overlay: Check warns of it.
func (l Layers) Dir(scope Layer, id string) (dir string, exists bool, err error) {
	candidates := l.Candidates(scope, id)
	for _, folder := range candidates {
		if !l.mayHold(scope, folder) {
			continue
		}
		there, err := disk.Look(folder)
		if err != nil {
			return "", false, fmt.Errorf("overlay (%s) of module %s: %w", scope, id, fault.IO(folder, err))
		}
		if there == disk.Folder {
			return folder, true, nil
		}
	}
	return candidates[0], false, nil
}
