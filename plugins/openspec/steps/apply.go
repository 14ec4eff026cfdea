package steps

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
)

// ApplyInstructions describe how to implement a change, and how far the implementation is.
type ApplyInstructions struct {
	ChangeName             string            `json:"changeName"`
	ChangeDir              string            `json:"changeDir"`
	SchemaName             string            `json:"schemaName"`
	ContextFiles           project.Members   `json:"contextFiles"`
	Progress               Progress          `json:"progress"`
	Tasks                  []TaskItem        `json:"tasks"`
	TaskTrackingConfigured bool              `json:"taskTrackingConfigured"`
	Unavailable            []UnavailableFile `json:"unavailableTrackingFiles,omitempty"`
	State                  string            `json:"state"` // one of ready, blocked and all_done
	MissingArtifacts       []string          `json:"missingArtifacts,omitempty"`
	MissingPrerequisites   []string          `json:"missingPrerequisites,omitempty"`
	Warnings               []string          `json:"warnings,omitempty"`
	Instruction            string            `json:"instruction"`
	Context                string            `json:"context,omitempty"`
	OperationGuidance      []string          `json:"operationGuidance,omitempty"`
	Root                   project.RootInfo  `json:"root"`
}

// Progress holds numbers of tasks.
type Progress struct {
	Total     int `json:"total"`
	Complete  int `json:"complete"`
	Remaining int `json:"remaining"`
}

// TaskItem is a task that has a description.
type TaskItem struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Done        bool   `json:"done"`
}

// UnavailableFile is a task file that cannot be read.
type UnavailableFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// The default instructions, for a schema that has no instructions of its own.
const (
	proceed   = "All required artifacts complete. Proceed with implementation."
	workTasks = "Read context files, work through pending tasks, mark complete as you go.\nPause if you hit blockers or need clarification."
	allDone   = "All tasks are complete! This change is ready to be archived.\nConsider running tests and reviewing the changes before archiving."
)

func (p *plan) apply(info project.RootInfo) (*ApplyInstructions, error) {
	a := &ApplyInstructions{
		ChangeName:           p.change.Name,
		ChangeDir:            p.change.Dir,
		SchemaName:           p.name,
		ContextFiles:         project.Members{},
		Tasks:                []TaskItem{},
		MissingPrerequisites: p.schema.Missing(p.needed(), p.complete),
		Root:                 info,
	}
	a.Context, a.OperationGuidance = operation(p.config, "apply")
	for _, artifact := range p.schema.Artifacts {
		if files := p.outputs[artifact.ID]; len(files) > 0 {
			a.ContextFiles.Add(artifact.ID, p.existing(files))
		}
	}
	for _, id := range p.needed() {
		if !p.complete[id] {
			a.MissingArtifacts = append(a.MissingArtifacts, id)
		}
	}
	tracked := false
	if p.schema.Apply != nil && p.schema.Apply.Tracks != nil {
		a.TaskTrackingConfigured = true
		files, err := p.change.Outputs(*p.schema.Apply.Tracks)
		if err != nil {
			return nil, err
		}
		tracked = len(files) > 0
		a.readTasks(p, files)
	}
	p.decide(a, tracked)
	for i, file := range a.Unavailable {
		if i == 0 {
			a.Instruction += "\nTask completion is not verified because tracking evidence was unavailable:"
		}
		a.Instruction += "\n- " + file.Path + ": " + file.Reason
	}
	var err error
	if a.State != "blocked" {
		a.Warnings, err = p.warnings()
	}
	return a, err
}

// readTasks counts all tasks, and lists the tasks that have a description.
func (a *ApplyInstructions) readTasks(p *plan, files []string) {
	for _, file := range files {
		source, _, err := p.change.ReadPath(file)
		if err != nil {
			a.Unavailable = append(a.Unavailable, UnavailableFile{Path: p.existing([]string{file})[0], Reason: err.Error()})
		}
		for _, task := range change.ParseTasks(source) {
			a.Progress.Total++
			if task.Done {
				a.Progress.Complete++
			}
			if task.Description != "" {
				a.Tasks = append(a.Tasks, TaskItem{ID: strconv.Itoa(len(a.Tasks) + 1), Description: task.Description, Done: task.Done})
			}
		}
	}
	a.Progress.Remaining = a.Progress.Total - a.Progress.Complete
}

// decide sets the state and the instruction. The argument "tracked" reports whether task files exist.
func (p *plan) decide(a *ApplyInstructions, tracked bool) {
	a.State = "blocked"
	file := ""
	if a.TaskTrackingConfigured {
		file = path.Base(*p.schema.Apply.Tracks)
	}
	instruction := proceed
	if a.TaskTrackingConfigured {
		instruction = workTasks
	}
	if p.schema.Apply != nil && p.schema.Apply.Instruction != nil {
		instruction = markdown.Trim(*p.schema.Apply.Instruction)
	}
	switch {
	case len(a.MissingArtifacts) > 0:
		a.Instruction = fmt.Sprintf("Cannot apply this change yet. Missing artifacts: %s.", strings.Join(a.MissingArtifacts, ", "))
		if len(a.MissingPrerequisites) > len(a.MissingArtifacts) {
			a.Instruction += fmt.Sprintf("\nNot created yet, in build order: %s. Build the ones this change needs before applying - the schema says which are conditional.",
				strings.Join(a.MissingPrerequisites, ", "))
		}
		a.Instruction += "\n" + p.remedy(a.MissingPrerequisites...)
	case a.TaskTrackingConfigured && !tracked:
		a.Instruction = fmt.Sprintf("The %s file is missing and must be created.\n%s", file, p.remedy(p.tracking()...))
	case len(a.Unavailable) > 0 && len(a.Tasks) == 0:
		a.Instruction = "No readable task descriptions are available."
	case a.TaskTrackingConfigured && len(a.Tasks) == 0:
		a.Instruction = fmt.Sprintf("The %[1]s file exists but contains no tasks to work on.\nAdd tasks to %[1]s, or rebuild it: %[2]s", file, p.remedy(p.tracking()...))
	case a.TaskTrackingConfigured && a.Unavailable == nil && a.Progress.Remaining == 0:
		a.State, a.Instruction = "all_done", allDone
	default:
		a.State, a.Instruction = "ready", instruction
	}
}

// tracking returns the id of the artifact whose files contain the tasks; an empty list if there is no such artifact.
func (p *plan) tracking() []string {
	for _, artifact := range p.schema.Artifacts {
		if artifact.Generates == *p.schema.Apply.Tracks {
			return []string{artifact.ID}
		}
	}
	return nil
}

// remedy returns a text that names the calls which create the missing artifacts.
func (p *plan) remedy(ids ...string) string {
	target, verb := "<artifact>", "Create it"
	if len(ids) == 1 {
		target = ids[0]
	} else if len(ids) > 1 {
		verb = "Create each"
	}
	return fmt.Sprintf(`%s with %s; openspec_status(change: "%[3]s") (openspec status --change %[3]s) shows what is left.`, verb, p.instructionsCall(target), p.change.Name)
}

// warnings returns a warning for each misplaced delta, which an archive would not merge, and for missing deltas.
func (p *plan) warnings() ([]string, error) {
	var artifacts []workflow.Artifact
	written := false
	for _, artifact := range p.schema.Artifacts {
		if artifact.IsDelta() {
			artifacts = append(artifacts, artifact)
			written = written || len(p.outputs[artifact.ID]) > 0
		}
		if p.skipped[artifact.ID] {
			return nil, nil
		}
	}
	if len(artifacts) == 0 {
		return nil, nil
	}
	_, loose, err := p.change.Deltas()
	if err != nil {
		return nil, err
	}
	misplaced, err := project.MisplacedDeltas(p.change, loose)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range misplaced {
		all = append(all, fmt.Sprintf("specs/%s is not a capability's spec.md, so openspec_validate(name: \"%s\") rejects it and archive never merges it. Move its requirements into specs/%s.", file.Path, p.change.Name, file.Expected))
	}
	if written {
		return all, nil
	}
	target := "<artifact-id>"
	if len(artifacts) == 1 {
		target = artifacts[0].ID
	}
	return append(all, fmt.Sprintf("This change has no delta specs and does not declare `skip_specs: true`, so openspec_validate(name: \"%s\") fails on it. Write the delta specs before implementing, as %s says, or add `skip_specs: true` to %s if this change really changes no specified behavior.",
		p.change.Name, p.instructionsCall(target), p.path(store.MetadataFile))), nil
}
