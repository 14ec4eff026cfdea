package report

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
)

// layerMissing is the value of ModuleOrigin.Layer for a file that no layer contains.
const layerMissing = "missing"

// PlanExplanation lists the changes of a plan, each with the origins of the changed file.
type PlanExplanation struct {
	Profile string              `json:"profile"`
	Targets []string            `json:"targets"`
	Changes []ChangeExplanation `json:"changes"`
}

// ChangeExplanation describes a change, and the modules from which the changed file is generated.
type ChangeExplanation struct {
	Op        plan.Op        `json:"op"`
	Target    string         `json:"target"`
	Path      string         `json:"path"`
	PathPosix string         `json:"path_posix"`
	Modules   []ModuleOrigin `json:"modules"`
}

// ModuleOrigin describes a file of a module. All fields except ID are nil if the manifest no longer contains the
// module.
type ModuleOrigin struct {
	ID    string  `json:"module_id"`
	Type  *string `json:"module_type"`
	Layer *string `json:"layer"`
	Path  *string `json:"module_path"`
}

// StatusExplanation lists drifted files, each with the ids of its modules.
type StatusExplanation struct {
	Profile string             `json:"profile"`
	Targets []string           `json:"targets"`
	Drift   []DriftExplanation `json:"drift"`
}

// DriftExplanation describes a drifted file, and lists the ids of the modules from which the file is generated.
type DriftExplanation struct {
	Kind      DriftKind `json:"kind"`
	Target    string    `json:"target"`
	Path      string    `json:"path"`
	PathPosix string    `json:"path_posix"`
	Expected  *string   `json:"expected"`
	Actual    *string   `json:"actual"`
	Modules   []string  `json:"modules"`
}

// ExplainPlan returns the changes of a plan with their explanations.
func ExplainPlan(result *plan.Prepared, changes plan.Plan) PlanExplanation {
	explained := PlanExplanation{Profile: result.Profile, Targets: result.Targets, Changes: []ChangeExplanation{}}
	for _, change := range changes.Changes {
		explanation := ChangeExplanation{Op: change.Op, Target: change.Target, Path: change.Path, PathPosix: change.PathPosix, Modules: []ModuleOrigin{}}
		for _, origin := range origins(result, change.Key()) {
			explanation.Modules = append(explanation.Modules, explain(result, origin))
		}
		explained.Changes = append(explained.Changes, explanation)
	}
	return explained
}

// origins returns the origins of a desired file. For any other managed file it derives the origins from the manifest;
// the Path of an origin is then "" if it cannot be derived.
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

// deployedFrom derives the path of a file in the module id from deployed, which is the path in a root to which the file
// was deployed. The module may have changed since that deploy.
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
	// A module that cannot be composed, for example because it is disabled, has no layers.
	if ready, err := result.Composer.Ready(configured); err == nil {
		if single := ready.Single(); single != "" {
			origin.Path = single // the target may have deployed the file under another name
		}
		if found, ok := ready.Layers[origin.Path]; ok {
			layer = string(found)
		}
	}
	return ModuleOrigin{ID: origin.Module, Type: &kind, Layer: &layer, Path: &origin.Path}
}

// ExplainStatus returns the drifted managed files with their modules. If no manifest lists any files, it returns the
// drifted desired files instead.
func ExplainStatus(result *plan.Prepared) (StatusExplanation, []string, error) {
	var listed []output.ManagedDir
	for _, dir := range result.ManagedDirs {
		if len(dir.Files) > 0 {
			listed = append(listed, dir)
		}
	}
	drift, err := ScanDrift(result.State, listed, result.Sums, false)
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
	slices.SortStableFunc(explained.Drift, func(a, b DriftExplanation) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/")))
	})
	return explained, drift.Warnings, nil
}
