package steps

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
)

// InstructionsRequest selects an artifact of a change, or one of the operations apply and archive.
type InstructionsRequest struct {
	Change   string `json:"change"`
	Artifact string `json:"artifact"`
	Schema   string `json:"schema"` // the name of the schema; if empty, the schema of the change
}

// Instructions describe how to write one artifact of a change.
type Instructions struct {
	ChangeName   string `json:"changeName"`
	ArtifactID   string `json:"artifactId"`
	SchemaName   string `json:"schemaName"`
	ChangeDir    string `json:"changeDir"`
	PlanningHome Home   `json:"planningHome"`
	ArtifactPaths
	Description  string           `json:"description"`
	Instruction  *string          `json:"instruction,omitempty"`
	Context      string           `json:"context,omitempty"`
	Rules        []string         `json:"rules,omitempty"`
	Skipped      bool             `json:"skipped,omitempty"`
	Warning      string           `json:"warning,omitempty"`
	Template     string           `json:"template"`
	Dependencies []Dependency     `json:"dependencies"`
	Unlocks      []string         `json:"unlocks"`
	Root         project.RootInfo `json:"root"`
}

// Dependency is an artifact that another artifact requires.
type Dependency struct {
	ID          string `json:"id"`
	Done        bool   `json:"done"`
	Path        string `json:"path"`
	Description string `json:"description"`
	Skipped     bool   `json:"skipped,omitempty"`
}

// ArchiveInstructions are the instructions for archiving a change that the config file of a project contains.
type ArchiveInstructions struct {
	ChangeName        string           `json:"changeName"`
	Context           string           `json:"context,omitempty"`
	OperationGuidance []string         `json:"operationGuidance,omitempty"`
	Root              project.RootInfo `json:"root"`
}

const skippedArtifact = "This change sets skip_specs: true in .openspec.yaml, so this artifact is skipped: its specs do not change.\n" +
	"Write no spec files, which that marker contradicts. If requirements change after all, remove skip_specs from .openspec.yaml and ask again."

// InstructionsFor returns an *Instructions, an *ApplyInstructions or an *ArchiveInstructions.
func InstructionsFor(p *project.Project, request InstructionsRequest) (_ any, err error) {
	defer project.Convert(&err, project.CodeChange, "", false)
	root, info, err := p.Find()
	if err != nil {
		return nil, err
	}
	w := planner{project.NewWorkflows(root)}
	if request.Artifact == "archive" {
		return w.archive(info, request.Change)
	}
	planned, err := w.plan(request.Change, request.Schema)
	if err != nil {
		return nil, err
	}
	if request.Artifact == "apply" {
		return planned.apply(info)
	}
	return planned.instructions(w, info, request.Artifact)
}

// archive returns the instructions for archiving a change. These instructions do not depend on the schema of the
// change.
func (w planner) archive(info project.RootInfo, name string) (*ArchiveInstructions, error) {
	if _, err := w.change(name); err != nil {
		return nil, err
	}
	config, err := w.Config()
	if err != nil {
		return nil, err
	}
	context, guidance := operation(config, "archive")
	return &ArchiveInstructions{ChangeName: name, Context: context, OperationGuidance: guidance, Root: info}, nil
}

// operation returns the context in a config, and the guidance for one operation.
func operation(config change.Config, name string) (context string, guidance []string) {
	if strings.TrimSpace(config.Context) != "" {
		context = config.Context
	}
	return context, config.Guidance[name]
}

func (p *plan) instructions(w planner, info project.RootInfo, id string) (*Instructions, error) {
	artifact := p.schema.Artifact(id)
	if artifact == nil {
		return nil, fmt.Errorf("Artifact '%s' not found in schema '%s'. Valid artifacts:\n  %s", id, p.name, strings.Join(p.schema.IDs(), "\n  ")) //lint:ignore ST1005 the wording of the openspec CLI
	}
	template, err := w.Template(p.name, artifact.Template)
	if err != nil {
		return nil, err
	}
	result := &Instructions{
		ChangeName:    p.change.Name,
		ArtifactID:    id,
		SchemaName:    p.name,
		ChangeDir:     p.change.Dir,
		PlanningHome:  p.home,
		ArtifactPaths: ArtifactPaths{artifact.Generates, p.path(artifact.Generates), p.existing(p.outputs[id])},
		Description:   artifact.Description,
		Instruction:   artifact.Instruction,
		Context:       strings.TrimSpace(p.config.Context),
		Rules:         p.config.Rules[id],
		Template:      template,
		Dependencies:  []Dependency{},
		Unlocks:       p.schema.Unlocks(id),
		Root:          info,
	}
	if p.skipped[id] {
		result.Skipped, result.Warning = true, skippedArtifact
	}
	for _, required := range artifact.Requires {
		other := p.schema.Artifact(required)
		result.Dependencies = append(result.Dependencies, Dependency{
			ID: required, Done: p.complete[required], Path: other.Generates, Description: other.Description, Skipped: p.skipped[required]})
	}
	return result, nil
}
