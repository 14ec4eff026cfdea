package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

// defaultSchema is the workflow schema that every project has.
const defaultSchema = "spec-driven"

// workflows reads the workflow schemas that one call uses, and computes the values that depend on the schemas. It reads
// each file only once.
type workflows struct {
	root    *store.Root
	schemas map[string]loadedSchema
	project *change.Config
	names   []string
	last    *loadedMetadata // the metadata of the change whose metadata was read last
}

type loadedMetadata struct {
	dir     string
	meta    change.Metadata
	invalid *change.Invalid
	exists  bool
	err     error
}

type loadedSchema struct {
	*workflow.Schema
	err error
}

func newWorkflows(root *store.Root) *workflows {
	return &workflows{root: root, schemas: map[string]loadedSchema{}}
}

// config returns the config of the project; an empty config if the project has no config file.
func (w *workflows) config() (change.Config, error) {
	if w.project != nil {
		return *w.project, nil
	}
	var config change.Config
	if found := w.root.Config(); found != "" {
		source, _, err := w.root.ReadFile(filepath.Base(found))
		if err != nil {
			return config, err
		}
		config = change.ParseConfig(source)
	}
	w.project = &config
	return config, nil
}

// available returns the names of all schemas, sorted.
func (w *workflows) available() ([]string, error) {
	if w.names != nil {
		return w.names, nil
	}
	own, err := w.root.Schemas()
	if err != nil {
		return nil, err
	}
	names := slices.Concat(own, []string{defaultSchema})
	slices.Sort(names)
	w.names = slices.Compact(names)
	return w.names, nil
}

// isBuiltIn reports whether name selects the built-in schema. It returns false if a schema of the project replaces the
// built-in schema.
func (w *workflows) isBuiltIn(name string) bool {
	if withoutExtension(name) != defaultSchema {
		return false
	}
	schema, err := w.load(defaultSchema) // load caches its result, whereas HasSchema would read the file system each time
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

// load returns the schema called name, and caches the schema.
func (w *workflows) load(name string) (*workflow.Schema, error) {
	name = withoutExtension(name)
	known, ok := w.schemas[name]
	if !ok {
		known.Schema, known.err = w.read(name)
		w.schemas[name] = known
	}
	return known.Schema, known.err
}

func (w *workflows) read(name string) (*workflow.Schema, error) {
	source, found, err := w.root.ReadSchema(name)
	if err != nil {
		return nil, err
	}
	if !found {
		if name == defaultSchema {
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
		return nil, fmt.Errorf("Failed to parse schema at '%s': %w", w.root.SchemaPath(name), err)
	case err != nil:
		//lint:ignore ST1005 the wording of the openspec CLI
		return nil, fmt.Errorf("Invalid schema at '%s': %w", w.root.SchemaPath(name), err)
	}
	return schema, nil
}

// metadata returns the content of the metadata file of a change. The result invalid is the reason why the file is
// ignored; nil if the file is valid.
func (w *workflows) metadata(c store.Change) (meta change.Metadata, invalid *change.Invalid, exists bool, err error) {
	if w.last == nil || w.last.dir != c.Dir {
		w.last = &loadedMetadata{dir: c.Dir}
		w.last.meta, w.last.invalid, w.last.exists, w.last.err = w.readMetadata(c)
	}
	return w.last.meta, w.last.invalid, w.last.exists, w.last.err
}

func (w *workflows) readMetadata(c store.Change) (meta change.Metadata, invalid *change.Invalid, exists bool, err error) {
	var parsed change.MetadataFacts
	if known := c.Facts(store.MetadataFile); known != nil && known.Metadata != nil {
		parsed = *known.Metadata
	} else {
		source, found, err := c.Read(store.MetadataFile)
		if err != nil || !found {
			return change.Metadata{}, nil, false, err
		}
		parsed = change.MetadataFactsOf(source)
	}
	if parsed.Invalid != nil {
		return change.Metadata{}, parsed.Invalid, true, nil
	}
	meta = parsed.Metadata
	available, err := w.available()
	if err != nil {
		return change.Metadata{}, nil, true, err
	}
	reason := ""
	var cause error
	known := slices.Contains(available, meta.Schema)
	if !known {
		reason, cause = fmt.Sprintf("schema: unknown schema '%s'", meta.Schema), unknownSchema(meta.Schema, available)
	} else if _, cause = w.load(meta.Schema); cause != nil && (meta.SkipSpecs || meta.RetireCapabilities) {
		reason = cause.Error()
	}
	if reason != "" {
		return change.Metadata{}, &change.Invalid{
			Reason: change.Printable(reason), SkipSpecs: meta.SkipSpecs, Retire: meta.RetireCapabilities, Cause: cause, Unknown: !known}, true, nil
	}
	return meta, nil, true, nil
}

// schemaName returns the name of the schema of a change. This is the name in the metadata of the change, or else the
// default schema of the project.
func (w *workflows) schemaName(c store.Change) (string, error) {
	meta, invalid, exists, err := w.metadata(c)
	switch {
	case err != nil:
		return "", err
	case invalid != nil && invalid.Cause != nil:
		return "", invalid.Cause
	case invalid != nil:
		//lint:ignore ST1005 the wording of the openspec CLI
		return "", fmt.Errorf("Invalid metadata: %w", invalid)
	case exists:
		return meta.Schema, nil
	}
	return w.defaultName()
}

// defaultName returns the name of the default schema of the project.
func (w *workflows) defaultName() (string, error) {
	config, err := w.config()
	if err != nil || config.Schema == "" {
		return defaultSchema, err
	}
	return config.Schema, nil
}

// nested returns the changes in a directory that is not a change itself.
func (w *workflows) nested(c store.Change) ([]string, error) {
	entries, err := c.Entries()
	if err != nil {
		return nil, err
	}
	return w.nestedIn(c, entries)
}

// nestedIn returns the same result as nested, for a directory whose entries the caller has already read.
func (w *workflows) nestedIn(c store.Change, entries []fs.DirEntry) ([]string, error) {
	var generated []string
	if name, err := w.defaultName(); err == nil && !w.isBuiltIn(name) { // package store knows only the files of the built-in schema
		if schema, err := w.load(name); err == nil {
			for _, artifact := range schema.Artifacts {
				generated = append(generated, artifact.Generates)
			}
		}
	}
	return c.Nested(entries, generated)
}

// tasks reads the task files of a change. These are the files that the schema tracks, or else tasks.md. The result
// unread contains the paths of files that cannot be read.
func (w *workflows) tasks(c store.Change) (tasks validation.Tasks, unread []string, err error) {
	var files []string
	if name, err := w.schemaName(c); err == nil {
		tasks.Numbered = w.isBuiltIn(name)
		if schema, err := w.load(name); err == nil && schema.Tracked() != "" {
			if files, err = c.Outputs(schema.Tracked()); err != nil {
				return tasks, nil, err
			}
		}
	}
	tasks.Tracked = len(files) > 0
	if !tasks.Tracked {
		files = []string{store.TasksFile}
	}
	for _, file := range files {
		if known := c.Facts(file); known != nil {
			tasks.Files = append(tasks.Files, change.TaskFile{Path: file, TaskFacts: known.Tasks})
			continue
		}
		source, found, err := c.ReadPath(file)
		switch {
		case err != nil:
			unread = append(unread, file)
		case found:
			tasks.Files = append(tasks.Files, change.TaskFile{Path: file, TaskFacts: change.TaskFactsOf(source)})
		}
	}
	tasks.Tracked = tasks.Tracked && unread == nil
	return tasks, unread, nil
}

// countTasks returns the number of finished tasks of a change, and the number of all of its tasks.
func (w *workflows) countTasks(c store.Change) (done, total int, unread []string, err error) {
	tasks, unread, err := w.tasks(c)
	for _, file := range tasks.Files {
		done, total = done+file.Done, total+file.Total
	}
	return done, total, unread, err
}
