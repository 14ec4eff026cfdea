package project

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// loadedMetadata is the result of readMetadata for the change in dir.
type loadedMetadata struct {
	dir     string
	meta    change.Metadata
	invalid *change.Invalid
	exists  bool
	err     error
}

// Metadata returns the content of the metadata file of a change. The result invalid is the reason why the file is
// ignored; nil if the file is valid.
func (w *Workflows) Metadata(c store.Change) (meta change.Metadata, invalid *change.Invalid, exists bool, err error) {
	if w.last == nil || w.last.dir != c.Dir {
		w.last = &loadedMetadata{dir: c.Dir}
		w.last.meta, w.last.invalid, w.last.exists, w.last.err = w.readMetadata(c)
	}
	return w.last.meta, w.last.invalid, w.last.exists, w.last.err
}

func (w *Workflows) readMetadata(c store.Change) (meta change.Metadata, invalid *change.Invalid, exists bool, err error) {
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
	} else if _, cause = w.Load(meta.Schema); cause != nil && (meta.SkipSpecs || meta.RetireCapabilities) {
		reason = cause.Error()
	}
	if reason != "" {
		return change.Metadata{}, &change.Invalid{
			Reason: change.Printable(reason), SkipSpecs: meta.SkipSpecs, Retire: meta.RetireCapabilities, Cause: cause, Unknown: !known}, true, nil
	}
	return meta, nil, true, nil
}

// SchemaName returns the name of the schema of a change. This is the name in the metadata of the change, or else the
// default schema of the project.
func (w *Workflows) SchemaName(c store.Change) (string, error) {
	meta, invalid, exists, err := w.Metadata(c)
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

// Nested returns the changes in a directory that is not a change itself.
func (w *Workflows) Nested(c store.Change) ([]string, error) {
	entries, err := c.Entries()
	if err != nil {
		return nil, err
	}
	return w.NestedIn(c, entries)
}

// NestedIn returns the same result as Nested, for a directory whose entries the caller has already read.
func (w *Workflows) NestedIn(c store.Change, entries []fs.DirEntry) ([]string, error) {
	var generated []string
	if name, err := w.defaultName(); err == nil && !w.IsBuiltIn(name) { // package store knows only the files of the built-in schema
		if schema, err := w.Load(name); err == nil {
			for _, artifact := range schema.Artifacts {
				generated = append(generated, artifact.Generates)
			}
		}
	}
	return c.Nested(entries, generated)
}

// Tasks reads the task files of a change. These are the files that the schema tracks, or else tasks.md. The result
// unread contains the paths of files that cannot be read.
func (w *Workflows) Tasks(c store.Change) (tasks validation.Tasks, unread []string, err error) {
	var files []string
	if name, err := w.SchemaName(c); err == nil {
		tasks.Numbered = w.IsBuiltIn(name)
		if schema, err := w.Load(name); err == nil && schema.Tracked() != "" {
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

// CountTasks returns the number of finished tasks of a change, and the number of all of its tasks.
func (w *Workflows) CountTasks(c store.Change) (done, total int, unread []string, err error) {
	tasks, unread, err := w.Tasks(c)
	for _, file := range tasks.Files {
		done, total = done+file.Done, total+file.Total
	}
	return done, total, unread, err
}

// NestedText returns the warning about a directory that contains changes and is not a change itself.
func NestedText(name string, nested []string) string {
	paths := make([]string, len(nested))
	for i, id := range nested {
		paths[i] = "openspec/changes/" + id + "/"
	}
	return fmt.Sprintf(`"%s" is not a change: it is a folder wrapping %s. A change must be a directory directly under openspec/changes/, so those nested directories are invisible to OpenSpec while the folder around them is reported as a change. Nested paths are supported under openspec/specs/ only. Rename each nested change to a flat name (for example "%s").`,
		name, strings.Join(paths, ", "), strings.ReplaceAll(nested[0], "/", "-"))
}
