package project

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

// DefaultSchema is the workflow schema that every project has.
const DefaultSchema = "spec-driven"

// Workflows reads the workflow schemas that one call uses, and computes the values that depend on the schemas. It reads
// each file only once.
type Workflows struct {
	Root    *store.Root
	schemas map[string]loadedSchema
	project *change.Config
	names   []string
	last    *loadedMetadata // the metadata of the change whose metadata was read last
}

type loadedSchema struct {
	*workflow.Schema
	err error
}

// NewWorkflows returns the Workflows of a root.
func NewWorkflows(root *store.Root) *Workflows {
	return &Workflows{Root: root, schemas: map[string]loadedSchema{}}
}

// Config returns the config of the project; an empty config if the project has no config file.
func (w *Workflows) Config() (change.Config, error) {
	if w.project != nil {
		return *w.project, nil
	}
	var config change.Config
	if found := w.Root.Config(); found != "" {
		source, _, err := w.Root.ReadFile(filepath.Base(found))
		if err != nil {
			return config, err
		}
		config = change.ParseConfig(source)
	}
	w.project = &config
	return config, nil
}

// available returns the names of all schemas, sorted.
func (w *Workflows) available() ([]string, error) {
	if w.names != nil {
		return w.names, nil
	}
	own, err := w.Root.Schemas()
	if err != nil {
		return nil, err
	}
	names := slices.Concat(own, []string{DefaultSchema})
	slices.Sort(names)
	w.names = slices.Compact(names)
	return w.names, nil
}

// IsBuiltIn reports whether name selects the built-in schema. It returns false if a schema of the project replaces the
// built-in schema.
func (w *Workflows) IsBuiltIn(name string) bool {
	if withoutExtension(name) != DefaultSchema {
		return false
	}
	schema, err := w.Load(DefaultSchema) // Load caches its result, whereas HasSchema would read the file system each time
	return err == nil && schema == workflow.BuiltIn()
}

// withoutExtension returns the name of the directory of a schema, which is the name of the schema without .yaml or
// .yml.
func withoutExtension(name string) string {
	for _, extension := range []string{".yaml", ".yml"} {
		if short, ok := strings.CutSuffix(name, extension); ok {
			return short
		}
	}
	return name
}

// Load returns the schema called name, and caches the schema.
func (w *Workflows) Load(name string) (*workflow.Schema, error) {
	name = withoutExtension(name)
	known, ok := w.schemas[name]
	if !ok {
		known.Schema, known.err = w.read(name)
		w.schemas[name] = known
	}
	return known.Schema, known.err
}

func (w *Workflows) read(name string) (*workflow.Schema, error) {
	source, found, err := w.Root.ReadSchema(name)
	if err != nil {
		return nil, err
	}
	if !found {
		if name == DefaultSchema {
			return workflow.BuiltIn(), nil
		}
		available, err := w.available()
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("Schema '%s' not found. Available schemas: %s", name, strings.Join(available, ", ")) //lint:ignore ST1005 the wording of the openspec CLI
	}
	schema, err := workflow.Parse(source)
	switch {
	case errors.Is(err, yamlvalue.ErrSyntax):
		//lint:ignore ST1005 the wording of the openspec CLI
		return nil, fmt.Errorf("Failed to parse schema at '%s': %w", w.Root.SchemaPath(name), err)
	case err != nil:
		//lint:ignore ST1005 the wording of the openspec CLI
		return nil, fmt.Errorf("Invalid schema at '%s': %w", w.Root.SchemaPath(name), err)
	}
	return schema, nil
}

// defaultName returns the name of the default schema of the project.
func (w *Workflows) defaultName() (string, error) {
	config, err := w.Config()
	if err != nil || config.Schema == "" {
		return DefaultSchema, err
	}
	return config.Schema, nil
}

// ChooseSchema returns the name of the workflow schema for a new change. This is the schema that the request asks for,
// or the default schema of the project.
func (w *Workflows) ChooseSchema(asked string) (string, error) {
	available, err := w.available()
	if err != nil {
		return "", err
	}
	if asked != "" {
		return asked, w.CheckSchema(asked)
	}
	if asked, err = w.defaultName(); err != nil {
		return "", err
	}
	if !slices.Contains(available, asked) {
		return "", unknownSchema(asked, available)
	}
	return asked, nil
}

// unknownSchema returns the error for a schema that a file names and that does not exist.
func unknownSchema(name string, available []string) error {
	return fmt.Errorf("Unknown schema '%s'. Available: %s", name, strings.Join(available, ", ")) //lint:ignore ST1005 the wording of the openspec CLI
}

// CheckSchema returns an error if the schema that a request names does not exist.
func (w *Workflows) CheckSchema(name string) error {
	available, err := w.available()
	if err != nil || slices.Contains(available, name) {
		return err
	}
	return fmt.Errorf("Schema '%s' not found. Available schemas:\n  %s", name, strings.Join(available, "\n  ")) //lint:ignore ST1005 the wording of the openspec CLI
}

// Template returns the text of the template of an artifact.
func (w *Workflows) Template(schema, name string) (string, error) {
	if w.IsBuiltIn(schema) {
		content, _ := workflow.BuiltInTemplate(name)
		return content, nil
	}
	content, path, found, err := w.Root.ReadTemplate(withoutExtension(schema), name)
	if err == nil && !found {
		err = fmt.Errorf("Template not found: %s", path)
	}
	return content, err
}
