// Package explain says of changes and drift from which modules, and from which layer of them, they come.
package explain

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/desired"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/managed"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/pipeline"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/status"
)

// missing is the layer of a file that no layer has.
const missing = "missing"

// Plan explains a plan.
type Plan struct {
	Profile string   `json:"profile"`
	Targets []string `json:"targets"`
	Changes []Change `json:"changes"`
}

// Change is one change with the modules that it comes from.
type Change struct {
	Op        plan.Op  `json:"op"`
	Target    string   `json:"target"`
	Path      string   `json:"path"`
	PathPosix string   `json:"path_posix"`
	Modules   []Module `json:"modules"`
}

// Module is where in a module a file comes from. All but ID are nil if the module is no longer configured.
type Module struct {
	ID    string  `json:"module_id"`
	Type  *string `json:"module_type"`
	Layer *string `json:"layer"`
	Path  *string `json:"module_path"`
}

// Status explains drift.
type Status struct {
	Profile string   `json:"profile"`
	Targets []string `json:"targets"`
	Drift   []Drift  `json:"drift"`
}

// Drift is one file that is not as it is meant to be, with the ids of its modules.
type Drift struct {
	Kind      status.Kind `json:"kind"`
	Target    string      `json:"target"`
	Path      string      `json:"path"`
	PathPosix string      `json:"path_posix"`
	Expected  *string     `json:"expected"`
	Actual    *string     `json:"actual"`
	Modules   []string    `json:"modules"`
}

// OfPlan explains the changes of a plan.
func OfPlan(result *pipeline.Result, changes plan.Plan) Plan {
	explained := Plan{Profile: result.Profile, Targets: result.Targets, Changes: []Change{}}
	for _, change := range changes.Changes {
		one := Change{Op: change.Op, Target: change.Target, Path: change.Path, PathPosix: change.PathPosix, Modules: []Module{}}
		for _, origin := range origins(result, change.Key()) {
			one.Modules = append(one.Modules, explain(result, origin))
		}
		explained.Changes = append(explained.Changes, one)
	}
	return explained
}

// origins returns which modules' files a file is, or was, made of. A Path that is not known is "".
func origins(result *pipeline.Result, key desired.Key) []desired.Origin {
	if file, ok := result.State.File(key); ok {
		return file.Origins
	}
	for _, folder := range result.Folders {
		for _, entry := range folder.Files {
			if folder.File(entry) != key {
				continue
			}
			var found []desired.Origin
			for _, id := range entry.Modules {
				found = append(found, desired.Origin{Module: id, Path: pathIn(result, id, entry.Path)})
			}
			return found
		}
	}
	return nil
}

// pathIn finds the file of a module that was deployed to a path in a folder. The module's files may have
// changed since.
func pathIn(result *pipeline.Result, id, deployed string) string {
	configured, ok := result.Manifest.Module(id)
	if !ok {
		return ""
	}
	switch configured.Type {
	case manifest.Instructions:
		return module.InstructionsFile
	case manifest.Skill:
		_, rest, _ := strings.Cut(deployed, "/")
		return rest
	}
	return path.Base(deployed)
}

func explain(result *pipeline.Result, origin desired.Origin) Module {
	configured, ok := result.Manifest.Module(origin.Module)
	if !ok {
		return Module{ID: origin.Module}
	}
	kind := strings.ToUpper(string(configured.Type[:1])) + string(configured.Type[1:])
	layer := missing
	// A module that cannot be composed, such as a disabled one, has no layers to tell of.
	if ready, err := result.Composer.Ready(configured); err == nil {
		if one := ready.Single(); one != "" {
			origin.Path = one // whatever the target calls it
		}
		if found, ok := ready.Layers[origin.Path]; ok {
			layer = string(found)
		}
	}
	return Module{ID: origin.Module, Type: &kind, Layer: &layer, Path: &origin.Path}
}

// OfStatus explains the drift of what is managed. Where no manifest names a file, it explains that of what is
// wanted.
func OfStatus(result *pipeline.Result) (Status, []string, error) {
	var listed []managed.Folder
	for _, folder := range result.Folders {
		if len(folder.Files) > 0 {
			listed = append(listed, folder)
		}
	}
	drift, err := status.Scan(result.State, listed, false)
	if err != nil {
		return Status{}, nil, err
	}
	explained := Status{Profile: result.Profile, Targets: result.Targets, Drift: []Drift{}}
	for _, item := range drift.Items {
		explained.Drift = append(explained.Drift, Drift{
			Kind: item.Kind, Target: item.Target, Path: item.Path, PathPosix: filepath.ToSlash(item.Path),
			Expected: item.Expected, Actual: item.Actual, Modules: append([]string{}, item.Modules...),
		})
	}
	return explained, drift.Warnings, nil
}
