// Package workflow parses workflow schemas, which define the artifacts of a change, the files of the artifacts, and
// their dependencies.
//
//	schema, err := workflow.Parse(source)
//	for _, artifact := range schema.BuildOrder() { … }
//
// The package accesses no files. A Pattern matches names that a caller has listed.
package workflow

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

// The bounds of a schema.
const (
	maxArtifacts = 1000
	maxRequires  = 20_000 // for all artifacts together; with YAML aliases, a small file can have many requirements
)

// Schema is a parsed workflow schema.
type Schema struct {
	Name      string
	Artifacts []Artifact // in the order of the schema's file
	Apply     *Apply     // nil if the file does not set the key
}

// Artifact is a part of a change that consists of one or several files.
type Artifact struct {
	ID          string
	Generates   string // the path of the artifact's file relative to the directory of the change, or a pattern of such paths
	Description string
	Template    string // path relative to the schema's directory of templates
	Instruction *string
	Requires    []string // the ids of the artifacts that this artifact requires
}

// Apply describes the implementation of a change.
type Apply struct {
	Requires    []string // the ids of the artifacts that the implementation needs
	Tracks      *string  // the path or pattern of the task files; nil if the file does not set the key
	Instruction *string
}

// Parse parses the source of a schema. The errors have the wording of the openspec CLI, unless source is not valid
// YAML.
func Parse(source string) (*Schema, error) {
	root, err := yamlvalue.Parse(source)
	if err != nil {
		return nil, err
	}
	p := &parser{}
	schema := p.schema(root)
	if len(p.problems) > 0 {
		return nil, errors.New("Invalid schema: " + strings.Join(p.problems, ", "))
	}
	return schema, schema.check()
}

// parser collects the problems of the values in a schema.
type parser struct {
	problems []string
	requires int
}

func (p *parser) problem(at, message string) {
	if len(p.problems) < maxArtifacts {
		p.problems = append(p.problems, at+": "+message)
	}
}

func (p *parser) schema(root yamlvalue.Value) *Schema {
	if root.Kind() != yamlvalue.Map {
		p.problem("", root.Want(yamlvalue.Map))
		return nil
	}
	schema := &Schema{Name: p.filled("name", root.Get("name"), "Schema name is required")}
	p.version(root.Get("version"))
	p.optional("description", root.Get("description"))
	list := root.Get("artifacts")
	items := list.Items()
	switch {
	case list.Kind() != yamlvalue.List:
		p.problem("artifacts", list.Want(yamlvalue.List))
	case len(items) == 0:
		p.problem("artifacts", "At least one artifact required")
	case len(items) > maxArtifacts:
		p.problem("artifacts", fmt.Sprintf("A schema may declare at most %d artifacts", maxArtifacts))
		return nil
	}
	for i, item := range items {
		schema.Artifacts = append(schema.Artifacts, p.artifact(fmt.Sprintf("artifacts.%d", i), item))
	}
	if apply := root.Get("apply"); apply.Kind() != yamlvalue.Absent {
		schema.Apply = p.apply(apply)
	}
	return schema
}

func (p *parser) version(value yamlvalue.Value) {
	if value.Kind() != yamlvalue.Number {
		p.problem("version", value.Want(yamlvalue.Number))
		return
	}
	number, err := strconv.ParseFloat(value.Text(), 64)
	if whole, octal := strconv.ParseInt(value.Text(), 0, 64); octal == nil {
		number, err = float64(whole), nil
	}
	if err != nil || number != float64(int64(number)) {
		p.problem("version", "Invalid input: expected int, received number")
	}
	if err == nil && number <= 0 {
		p.problem("version", "Version must be a positive integer")
	}
}

func (p *parser) artifact(at string, value yamlvalue.Value) Artifact {
	if value.Kind() != yamlvalue.Map {
		p.problem(at, value.Want(yamlvalue.Map))
		return Artifact{}
	}
	a := Artifact{
		ID:          p.filled(at+".id", value.Get("id"), "Artifact ID is required"),
		Generates:   p.path(at+".generates", value.Get("generates"), "generates field"),
		Description: p.text(at+".description", value.Get("description")),
		Template:    p.path(at+".template", value.Get("template"), "template field"),
		Instruction: p.optional(at+".instruction", value.Get("instruction")),
	}
	if requires := value.Get("requires"); requires.Kind() != yamlvalue.Absent {
		a.Requires = p.ids(at+".requires", requires)
	}
	return a
}

func (p *parser) apply(value yamlvalue.Value) *Apply {
	if value.Kind() != yamlvalue.Map {
		p.problem("apply", value.Want(yamlvalue.Map))
		return nil
	}
	apply := &Apply{Requires: p.ids("apply.requires", value.Get("requires"))}
	if list := value.Get("requires"); list.Kind() == yamlvalue.List && len(list.Items()) == 0 {
		p.problem("apply.requires", "At least one required artifact")
	}
	if tracks := value.Get("tracks"); tracks.Kind() != yamlvalue.Absent && tracks.Kind() != yamlvalue.Null {
		file := p.path("apply.tracks", tracks, "apply.tracks")
		apply.Tracks = &file
	}
	apply.Instruction = p.optional("apply.instruction", value.Get("instruction"))
	return apply
}

func (p *parser) ids(at string, value yamlvalue.Value) []string {
	if value.Kind() != yamlvalue.List {
		p.problem(at, value.Want(yamlvalue.List))
		return nil
	}
	items := value.Items()
	if p.requires += len(items); p.requires > maxRequires {
		p.problem(at, fmt.Sprintf("A schema may have at most %d dependencies", maxRequires))
		return nil
	}
	var ids []string
	for i, item := range items {
		ids = append(ids, p.text(fmt.Sprintf("%s.%d", at, i), item))
	}
	return ids
}

func (p *parser) text(at string, value yamlvalue.Value) string {
	if value.Kind() != yamlvalue.String {
		p.problem(at, value.Want(yamlvalue.String))
		return ""
	}
	return value.Text()
}

func (p *parser) optional(at string, value yamlvalue.Value) *string {
	if value.Kind() == yamlvalue.Absent {
		return nil
	}
	text := p.text(at, value)
	return &text
}

func (p *parser) filled(at string, value yamlvalue.Value, empty string) string {
	text := p.text(at, value)
	if text == "" && value.Kind() == yamlvalue.String {
		p.problem(at, empty)
	}
	return text
}

var (
	slashes = regexp.MustCompile(`[\\/]+`)
	drive   = regexp.MustCompile(`^[A-Za-z]:`)
)

// path returns the value of a relative path. It adds a problem if the path is absolute or contains "..", by the rules
// of any system.
func (p *parser) path(at string, value yamlvalue.Value, what string) string {
	text := p.filled(at, value, what+" is required")
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, `\`) || drive.MatchString(text) ||
		slices.Contains(slashes.Split(text, -1), "..") || strings.ContainsRune(text, 0) {
		p.problem(at, what+" must be a relative path inside its allowed directory")
	}
	return text
}

// check returns an error for duplicate ids, for dependencies on unknown artifacts, and for cycles of dependencies.
func (s *Schema) check() error {
	known := map[string]bool{}
	for _, a := range s.Artifacts {
		if known[a.ID] {
			return fmt.Errorf("Duplicate artifact ID: %s", a.ID) //lint:ignore ST1005 the wording of the openspec CLI
		}
		known[a.ID] = true
	}
	for _, a := range s.Artifacts {
		for _, id := range a.Requires {
			if !known[id] {
				return fmt.Errorf("Invalid dependency reference in artifact '%s': '%s' does not exist", a.ID, id) //lint:ignore ST1005 the wording of the openspec CLI
			}
		}
	}
	if s.Apply != nil {
		for _, id := range s.Apply.Requires {
			if !known[id] {
				return fmt.Errorf("Invalid apply.requires reference: '%s' does not exist (artifacts: %s)", id, strings.Join(s.IDs(), ", ")) //lint:ignore ST1005 the wording of the openspec CLI
			}
		}
	}
	if cycle := s.cycle(); cycle != nil {
		return fmt.Errorf("Cyclic dependency detected: %s", strings.Join(cycle, " → ")) //lint:ignore ST1005 the wording of the openspec CLI
	}
	return nil
}

// IDs returns the ids of the artifacts, in the order of the schema's file.
func (s *Schema) IDs() []string {
	ids := make([]string, len(s.Artifacts))
	for i, a := range s.Artifacts {
		ids[i] = a.ID
	}
	return ids
}

// Artifact returns the artifact with the given id; nil if the schema has no such artifact.
func (s *Schema) Artifact(id string) *Artifact {
	for i := range s.Artifacts {
		if s.Artifacts[i].ID == id {
			return &s.Artifacts[i]
		}
	}
	return nil
}

// Tracked returns the path or pattern of the files whose tasks count; "" if the schema names no such files.
func (s *Schema) Tracked() string {
	for _, a := range s.Artifacts {
		if s.Apply != nil && s.Apply.Tracks != nil {
			if a.Generates == *s.Apply.Tracks {
				return a.Generates
			}
		} else if a.ID == "tasks" {
			return a.Generates
		}
	}
	return ""
}

// IsDelta reports whether the files of the artifact are below the directory specs of a change.
func (a Artifact) IsDelta() bool {
	return strings.HasPrefix(path.Clean(strings.ReplaceAll(a.Generates, `\`, "/")), "specs/")
}
