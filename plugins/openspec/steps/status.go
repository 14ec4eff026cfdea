package steps

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// StatusRequest selects the changes whose status is returned.
type StatusRequest struct {
	Change string `json:"change"` // the name of a change; if empty, all active changes
	Schema string `json:"schema"` // the name of the schema; if empty, the schema of the change
}

// Status lists the artifacts of a change, and says which of them exist and which comes next.
type Status struct {
	ChangeName         string            `json:"changeName"`
	SchemaName         string            `json:"schemaName"`
	PlanningHome       Home              `json:"planningHome"`
	ChangeRoot         string            `json:"changeRoot"`
	ArtifactPaths      project.Members   `json:"artifactPaths"`
	IsPlanningComplete bool              `json:"isPlanningComplete"`
	IsComplete         bool              `json:"isComplete"`
	ApplyRequires      []string          `json:"applyRequires"`
	NextSteps          []string          `json:"nextSteps"`
	ActionContext      ActionContext     `json:"actionContext"`
	Artifacts          []ArtifactStatus  `json:"artifacts"`
	Root               *project.RootInfo `json:"root,omitempty"`
}

// ArtifactPaths holds the path of an artifact, as its schema states it and joined with the directory of the change. It
// also holds the paths of the artifact's existing files.
type ArtifactPaths struct {
	OutputPath          string   `json:"outputPath"`
	ResolvedOutputPath  string   `json:"resolvedOutputPath"`
	ExistingOutputPaths []string `json:"existingOutputPaths"`
}

// ArtifactStatus is the state of one artifact of a change.
type ArtifactStatus struct {
	ID          string   `json:"id"`
	OutputPath  string   `json:"outputPath"`
	Status      string   `json:"status"` // one of "done", "ready", "blocked" and "skipped"
	Requires    []string `json:"requires"`
	MissingDeps []string `json:"missingDeps,omitempty"`
}

// ActionContext lists the directories to which a client may write.
type ActionContext struct {
	Mode                       string   `json:"mode"`
	SourceOfTruth              string   `json:"sourceOfTruth"`
	PlanningArtifacts          []string `json:"planningArtifacts"`
	LinkedContext              []string `json:"linkedContext"`
	AllowedEditRoots           []string `json:"allowedEditRoots"`
	RequiresAffectedAreaChoice bool     `json:"requiresAffectedAreaSelection"`
	Constraints                []string `json:"constraints"`
}

// StatusList holds the status of all active changes. For a change whose status cannot be computed, it holds a
// FailedStatus.
type StatusList struct {
	Changes []any            `json:"changes"`
	Message string           `json:"message,omitempty"`
	Root    project.RootInfo `json:"root"`
}

// FailedStatus says why the status of a change cannot be computed.
type FailedStatus struct {
	ChangeName string                  `json:"changeName"`
	Status     []project.FailureStatus `json:"status"`
}

// StatusOf returns a *Status for one change, or a *StatusList for all active changes.
func StatusOf(p *project.Project, request StatusRequest) (any, error) {
	root, info, err := p.Find()
	if err != nil {
		return nil, project.AsFailure(err, project.CodeChange, "", false)
	}
	w := planner{project.NewWorkflows(root)}
	if request.Change == "" {
		list, err := w.statusList(info, request.Schema)
		if err != nil {
			return nil, project.AsFailure(err, project.CodeChange, "changes", true)
		}
		return list, nil
	}
	planned, err := w.plan(request.Change, request.Schema)
	if err != nil {
		return nil, project.AsFailure(err, project.CodeChange, "", false)
	}
	status := planned.status()
	status.Root = &info
	return status, nil
}

func (w planner) statusList(info project.RootInfo, schema string) (*StatusList, error) {
	all, err := w.Root.Changes()
	if err != nil {
		return nil, err
	}
	list := &StatusList{Changes: []any{}, Root: info}
	if len(all) == 0 {
		list.Message = "No active changes."
	}
	err = w.Root.Each(all, func(c store.Change) error {
		planned, err := w.planActive(c, schema)
		switch {
		case !c.Exists(): // another call has archived or removed the change since the directory was listed
		case err != nil:
			failure := project.AsFailure(err, project.CodeChange, "", false)
			list.Changes = append(list.Changes, FailedStatus{ChangeName: c.Name, Status: []project.FailureStatus{failure.Status()}})
		default:
			list.Changes = append(list.Changes, planned.status())
		}
		return nil
	})
	return list, err
}

func (p *plan) status() *Status {
	status := &Status{
		ChangeName:         p.change.Name,
		SchemaName:         p.name,
		PlanningHome:       p.home,
		ChangeRoot:         p.change.Dir,
		ArtifactPaths:      project.Members{},
		IsPlanningComplete: p.isComplete(),
		IsComplete:         p.isComplete(),
		ApplyRequires:      p.needed(),
		NextSteps:          p.nextSteps(),
		ActionContext: ActionContext{
			Mode: "repo-local", SourceOfTruth: "repo", PlanningArtifacts: []string{}, LinkedContext: []string{}, AllowedEditRoots: []string{p.root.Path},
			Constraints: []string{"Repo-local change artifacts and implementation edits are scoped to this project."},
		},
	}
	for _, artifact := range p.schema.Artifacts {
		status.ArtifactPaths.Add(artifact.ID, ArtifactPaths{
			artifact.Generates, p.path(artifact.Generates), p.existing(p.outputs[artifact.ID])})
	}
	for _, artifact := range p.schema.BuildOrder() {
		one := ArtifactStatus{ID: artifact.ID, OutputPath: artifact.Generates, Requires: append([]string{}, artifact.Requires...)}
		switch one.MissingDeps = p.schema.Unmet(artifact, p.complete); {
		case p.skipped[artifact.ID]:
			one.Status, one.MissingDeps = "skipped", nil
		case p.complete[artifact.ID]:
			one.Status, one.MissingDeps = "done", nil
		case one.MissingDeps == nil:
			one.Status = "ready"
		default:
			one.Status = "blocked"
		}
		status.Artifacts = append(status.Artifacts, one)
		status.ActionContext.PlanningArtifacts = append(status.ActionContext.PlanningArtifacts, artifact.ID)
	}
	return status
}

// nextSteps names the call for the next artifact. If all artifacts are complete, it names the call for the
// implementation.
func (p *plan) nextSteps() []string {
	for _, artifact := range p.schema.BuildOrder() {
		if !p.complete[artifact.ID] && p.schema.Unmet(artifact, p.complete) == nil {
			return []string{fmt.Sprintf("Call %s before writing that artifact.", p.instructionsCall(artifact.ID))}
		}
	}
	if p.isComplete() {
		return []string{fmt.Sprintf("All planning artifacts are complete. Call %s to inspect implementation progress.", p.instructionsCall("apply"))}
	}
	return []string{}
}
