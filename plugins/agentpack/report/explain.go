// Package explain says of changes and drift from which modules, and from which layer of them, they come.
package report

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
)

// missing is the layer of a file that no layer has.
const layerMissing = "missing"

// Plan explains a plan.
type PlanExplanation struct {
	Profile string              `json:"profile"`
	Targets []string            `json:"targets"`
	Changes []ChangeExplanation `json:"changes"`
}

// Change is one change with the modules that it comes from.
type ChangeExplanation struct {
	Op        plan.Op        `json:"op"`
	Target    string         `json:"target"`
	Path      string         `json:"path"`
	PathPosix string         `json:"path_posix"`
	Modules   []ModuleOrigin `json:"modules"`
}

// Module is where in a module a file comes from. All but ID are nil if the module is no longer configured.
type ModuleOrigin struct {
	ID    string  `json:"module_id"`
	Type  *string `json:"module_type"`
	Layer *string `json:"layer"`
	Path  *string `json:"module_path"`
}

// Status explains drift.
type StatusExplanation struct {
	Profile string             `json:"profile"`
	Targets []string           `json:"targets"`
	Drift   []DriftExplanation `json:"drift"`
}

// Drift is one file that is not as it is meant to be, with the ids of its modules.
type DriftExplanation struct {
	Kind      DriftKind `json:"kind"`
	Target    string    `json:"target"`
	Path      string    `json:"path"`
	PathPosix string    `json:"path_posix"`
	Expected  *string   `json:"expected"`
	Actual    *string   `json:"actual"`
	Modules   []string  `json:"modules"`
}

// OfPlan explains the changes of a plan.
func ExplainPlan(result *plan.Prepared, changes plan.Plan) PlanExplanation {
	explained := PlanExplanation{Profile: result.Profile, Targets: result.Targets, Changes: []ChangeExplanation{}}
	for _, change := range changes.Changes {
		one := ChangeExplanation{Op: change.Op, Target: change.Target, Path: change.Path, PathPosix: change.PathPosix, Modules: []ModuleOrigin{}}
		for _, origin := range origins(result, change.Key()) {
			one.Modules = append(one.Modules, explain(result, origin))
		}
		explained.Changes = append(explained.Changes, one)
	}
	return explained
}

// origins returns which modules' files a file is, or was, made of. A Path that is not known is "".
func origins(result *plan.Prepared, key output.Key) []output.Origin {
	if file, ok := result.State.File(key); ok {
		return file.Origins
	}
	for _, dir := range result.ManagedDirs {
		for _, entry := range dir.Files {
			if dir.Key(entry) != key {
				continue
			}
			var found []output.Origin
			for _, id := range entry.Modules {
				found = append(found, output.Origin{Module: id, Path: deployedFrom(result, id, entry.Path)})
			}
			return found
		}
	}
	return nil
}

// pathIn finds the file of a module that was deployed to a path in a folder. The module's files may have
// changed since.
func deployedFrom(result *plan.Prepared, id, deployed string) string {
	configured, ok := result.Manifest.Module(id)
	if !ok {
		return ""
	}
	switch configured.Type {
	case config.Instructions:
		return module.InstructionsFile
	case config.Skill:
		_, rest, _ := strings.Cut(deployed, "/")
		return rest
	}
	return path.Base(deployed)
}

func explain(result *plan.Prepared, origin output.Origin) ModuleOrigin {
	configured, ok := result.Manifest.Module(origin.Module)
	if !ok {
		return ModuleOrigin{ID: origin.Module}
	}
	kind := strings.ToUpper(string(configured.Type[:1])) + string(configured.Type[1:])
	layer := layerMissing
	// A module that cannot be composed, such as a disabled one, has no layers to tell of.
	if ready, err := result.Composer.Ready(configured); err == nil {
		if one := ready.Single(); one != "" {
			origin.Path = one // whatever the target calls it
		}
		if found, ok := ready.Layers[origin.Path]; ok {
			layer = string(found)
		}
	}
	return ModuleOrigin{ID: origin.Module, Type: &kind, Layer: &layer, Path: &origin.Path}
}

// OfStatus explains the drift of what is managed. Where no manifest names a file, it explains that of what is
// wanted.
func ExplainStatus(result *plan.Prepared) (StatusExplanation, []string, error) {
	var listed []output.ManagedDir
	for _, dir := range result.ManagedDirs {
		if len(dir.Files) > 0 {
			listed = append(listed, dir)
		}
	}
	drift, err := ScanDrift(result.State, listed, false)
	if err != nil {
		return StatusExplanation{}, nil, err
	}
	explained := StatusExplanation{Profile: result.Profile, Targets: result.Targets, Drift: []DriftExplanation{}}
	for _, item := range drift.Items {
		explained.Drift = append(explained.Drift, DriftExplanation{
			Kind: item.Kind, Target: item.Target, Path: item.Path, PathPosix: filepath.ToSlash(item.Path),
			Expected: item.Expected, Actual: item.Actual, Modules: append([]string{}, item.Modules...),
		})
	}
	return explained, drift.Warnings, nil
}
