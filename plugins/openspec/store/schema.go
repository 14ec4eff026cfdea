package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
)

// Names of files and directories in the directory of a workflow schema.
const (
	schemaFile = "schema.yaml"
	templates  = "templates"
)

// SchemaPath returns the path of the file of a workflow schema that the project itself contains.
func (r *Root) SchemaPath(name string) string { return filepath.Join(r.schemaDir(name), schemaFile) }

func (r *Root) schemaDir(name string) string { return filepath.Join(r.Dir, schemas, name) }

// ReadSchema returns the content of a workflow schema that the project itself contains.
func (r *Root) ReadSchema(name string) (content string, found bool, err error) {
	if checkSegment("", name) != nil {
		return "", false, nil
	}
	return r.read(filepath.Join(r.Dir, schemas), []string{name}, schemaFile)
}

// HasSchema reports whether the project itself contains a workflow schema called name.
func (r *Root) HasSchema(name string) bool {
	return checkSegment("", name) == nil && r.reachable(filepath.Join(r.Dir, schemas)) && r.isDir(r.schemaDir(name)) && r.hasFile(r.schemaDir(name), schemaFile)
}

// isDir reports whether path is a directory. It returns false for a symbolic link to a directory.
func (r *Root) isDir(path string) bool {
	info, err := r.files.Lstat(path)
	return err == nil && info.IsDir()
}

// ReadTemplate returns the content and the path of a template. The template belongs to a workflow schema that the
// project itself contains.
func (r *Root) ReadTemplate(schema, template string) (content, path string, found bool, err error) {
	parts := append([]string{schema, templates}, strings.Split(workflow.File(template), "/")...)
	base, last := filepath.Join(r.Dir, schemas), len(parts)-1
	content, found, err = r.read(base, parts[:last], parts[last])
	return content, filepath.Join(append([]string{base}, parts...)...), found, err
}

// Schemas returns the names of the workflow schemas that the project itself contains, sorted.
func (r *Root) Schemas() ([]string, error) {
	entries, err := r.readDir(filepath.Join(r.Dir, schemas))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && r.HasSchema(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Outputs returns the paths of the existing files that match the path or pattern of an artifact. The paths are sorted,
// have slashes, and are relative to the directory of the change. The rules for symbolic links are those of the method
// read.
func (c Change) Outputs(generates string) ([]string, error) {
	if !workflow.IsPattern(generates) {
		file := workflow.File(generates)
		if file == "" || strings.HasSuffix(generates, "/") {
			return nil, nil
		}
		dir, parts := c.Dir, strings.Split(file, "/")
		for _, part := range parts[:len(parts)-1] {
			if dir = filepath.Join(dir, part); !c.root.isDir(dir) {
				return nil, nil
			}
		}
		if !c.root.hasFile(dir, parts[len(parts)-1]) {
			return nil, nil
		}
		return []string{file}, nil
	}
	var files []string
	pattern := c.root.pattern(generates)
	err := c.root.match(c.Dir, "", maxDepth, pattern.Start(), &files)
	if err == nil && pattern.TooCostly() {
		err = fmt.Errorf("the pattern %.200q of a workflow schema takes too long to match: use fewer groups or alternatives", generates)
	}
	slices.Sort(files)
	return files, err
}

// maxPatterns is the maximum number of parsed patterns in memory. A pattern may take 2 MiB.
const maxPatterns = 8

// pattern returns the parsed form of a pattern. A call uses one parsed form for all directories, so that one budget of
// steps covers all of them.
func (r *Root) pattern(generates string) *workflow.Pattern {
	known := r.patterns[generates]
	if known == nil {
		if r.patterns == nil || len(r.patterns) == maxPatterns {
			r.patterns = map[string]*workflow.Pattern{}
		}
		known = workflow.ParsePattern(generates)
		r.patterns[generates] = known
	}
	return known
}

func (r *Root) match(dir, prefix string, depth int, walk workflow.Walk, files *[]string) error {
	if walk.Empty() || depth < 0 {
		return nil
	}
	entries, err := r.readDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case entry.IsDir():
			err = r.match(below(dir, name), prefix+name+"/", depth-1, walk.Enter(name), files)
		case walk.Match(name) && r.isFile(entry, dir, name):
			*files = append(*files, prefix+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
