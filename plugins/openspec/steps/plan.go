// Package steps tells what to do next with a change. StatusOf returns which artifacts of the change exist, and
// InstructionsFor how to write one of them, or how to implement or archive the change. It changes nothing.
package steps

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
)

// Home describes where the changes of a project are.
type Home struct {
	Kind          string `json:"kind"` // always "repo"
	Root          string `json:"root"`
	ChangesDir    string `json:"changesDir"`
	DefaultSchema string `json:"defaultSchema"` // the schema of a project without a config file
}

// planner makes the plans of one call.
type planner struct{ *project.Workflows }

// plan is a change together with the artifacts of the change's schema.
type plan struct {
	root   *store.Root
	change store.Change
	home   Home
	config change.Config
	name   string // the name of the schema
	schema *workflow.Schema
	// outputs holds the existing files of each artifact, as paths relative to the directory of the change.
	outputs  map[string][]string
	complete map[string]bool
	skipped  map[string]bool // the artifacts that count as complete because the change sets skip_specs
}

// plan returns the plan of the change called name. If schema is not empty, it replaces the schema of the change.
func (w planner) plan(name, schema string) (*plan, error) {
	c, err := w.change(name)
	if err != nil {
		return nil, err
	}
	return w.planOf(c, schema)
}

// planActive returns the plan of a change that was found in a list.
func (w planner) planActive(c store.Change, schema string) (*plan, error) {
	if err := store.CheckChange(c.Name); err != nil {
		return nil, err
	}
	if err := w.notNested(c); err != nil {
		return nil, err
	}
	return w.planOf(c, schema)
}

// change returns the active change called name. It also validates name, which comes from a request.
func (w planner) change(name string) (store.Change, error) {
	if err := store.CheckChange(name); err != nil {
		return store.Change{}, err
	}
	c, exists, _ := w.Root.Change(name)
	if !exists {
		return c, w.noChange(name)
	}
	return c, w.notNested(c)
}

// notNested returns an error if the directory of c contains changes and is not a change itself.
func (w planner) notNested(c store.Change) error {
	nested, err := w.Nested(c)
	if err == nil && nested != nil {
		err = errors.New(project.NestedText(c.Name, nested))
	}
	return err
}

func (w planner) noChange(name string) error {
	all, err := w.Root.Changes()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return &project.Failure{Code: project.CodeChange, Message: fmt.Sprintf("Change '%s' not found. No changes exist.", name),
			Fix: `Call openspec_create_change(name: "<id>") (openspec new change <name>).`}
	}
	return fmt.Errorf("Change '%s' not found. Available changes:\n  %s", name, strings.Join(store.Names(all), "\n  ")) //lint:ignore ST1005 the wording of the openspec CLI
}

// planOf returns the plan of a change that exists.
func (w planner) planOf(c store.Change, schema string) (*plan, error) {
	if schema != "" {
		if err := w.CheckSchema(schema); err != nil {
			return nil, err
		}
	}
	config, err := w.Config()
	if err != nil {
		return nil, err
	}
	home := Home{Kind: "repo", Root: w.Root.Path, ChangesDir: w.Root.ChangesDir(), DefaultSchema: project.DefaultSchema}
	meta, invalid, _, err := w.Metadata(c)
	if err != nil {
		return nil, err
	}
	if schema == "" || invalid != nil && (invalid.Cause == nil || invalid.Unknown) {
		own, err := w.SchemaName(c)
		if err != nil {
			return nil, err
		}
		schema = own
	}
	skipSpecs := meta.SkipSpecs || invalid != nil && invalid.SkipSpecs // skip_specs counts even if the metadata is invalid
	p := &plan{root: w.Root, change: c, home: home, config: config, name: schema,
		outputs: map[string][]string{}, complete: map[string]bool{}, skipped: map[string]bool{}}
	if p.schema, err = w.Load(schema); err != nil {
		return nil, err
	}
	for _, artifact := range p.schema.Artifacts {
		files, err := c.Outputs(artifact.Generates)
		if err != nil {
			return nil, err
		}
		p.outputs[artifact.ID] = files
		p.skipped[artifact.ID] = skipSpecs && artifact.IsDelta() && len(files) == 0
		p.complete[artifact.ID] = len(files) > 0 || p.skipped[artifact.ID]
	}
	return p, nil
}

// path returns the absolute path of an artifact's file. If generates is a pattern, path appends the pattern to the path
// of the change.
func (p *plan) path(generates string) string {
	path := filepath.Join(p.change.Dir, generates)
	if strings.HasSuffix(generates, "/") {
		path += "/"
	}
	return path
}

// existing returns the absolute paths for paths that are relative to the directory of the change.
func (p *plan) existing(files []string) []string {
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = filepath.Join(p.change.Dir, filepath.FromSlash(file))
	}
	return paths
}

// isComplete reports whether all artifacts of the change are complete.
func (p *plan) isComplete() bool {
	return !slices.ContainsFunc(p.schema.Artifacts, func(a workflow.Artifact) bool { return !p.complete[a.ID] })
}

// needed returns the ids of the artifacts that must be complete before the change is implemented.
func (p *plan) needed() []string {
	if p.schema.Apply != nil {
		return p.schema.Apply.Requires
	}
	return p.schema.IDs()
}

// instructionsCall returns the tool call that returns the instructions for an artifact, followed by the CLI command in
// parentheses.
func (p *plan) instructionsCall(artifact string) string {
	return fmt.Sprintf(`openspec_instructions(artifact: "%[1]s", change: "%[2]s") (openspec instructions %[1]s --change "%[2]s" --json)`, artifact, p.change.Name)
}
