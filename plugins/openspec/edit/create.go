package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxChangeName is the maximum length of the name of a new change, in characters.
const maxChangeName = 200

// CreateRequest describes the change that CreateChange creates.
type CreateRequest struct {
	Name        string `json:"name"`
	Schema      string `json:"schema"`      // the name of the schema; if empty, the default schema of the project
	Description string `json:"description"` // the content of README.md; if empty, CreateChange writes no README.md
	Goal        string `json:"goal"`        // the goal in the metadata; if empty, the metadata has no goal
}

// CreateResult is the result of CreateChange.
type CreateResult struct {
	Change  CreatedChange    `json:"change"`
	Created []string         `json:"created"` // paths relative to the project, with slashes
	Root    project.RootInfo `json:"root"`
}

// CreatedChange describes the new change.
type CreatedChange struct {
	ID           string `json:"id"`
	Path         string `json:"path"`
	MetadataPath string `json:"metadataPath"`
	Schema       string `json:"schema"`
}

// CreateChange creates the directory of a change, with a metadata file. The author of the change has to write all other
// files.
func CreateChange(p *project.Project, request CreateRequest) (_ *CreateResult, err error) {
	defer project.Convert(&err, project.CodeChange, "change", false)
	if reason := wrongName(request.Name); reason != "" {
		return nil, errors.New("Change name " + reason)
	}
	root, info := toMake(p)
	if err := p.RecoverRoot(root); err != nil {
		return nil, err
	}
	w := project.NewWorkflows(root)
	name, err := w.ChooseSchema(request.Schema)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root.ChangesDir(), request.Name)
	taken := &project.Failure{Code: project.CodeChange, Message: fmt.Sprintf("Change '%s' already exists at %s", request.Name, path)}
	if _, err := p.Files.Lstat(path); err == nil {
		return nil, taken
	}
	schema, err := w.Load(name)
	if err != nil {
		return nil, err
	}
	files, err := newFiles(request, name, !slices.ContainsFunc(schema.Artifacts, workflow.Artifact.IsDelta), p.Now)
	if err != nil {
		return nil, err
	}
	scaffold := root.NewScaffold()
	if err = scaffold.Base(config, false); err == nil {
		err = scaffold.Change(request.Name, files)
	}
	if errors.Is(err, fs.ErrExist) {
		err = taken
	}
	if err != nil {
		if undone := scaffold.Undo(); undone != nil {
			return nil, errors.Join(err, undone)
		}
		return nil, err
	}
	return &CreateResult{
		Change:  CreatedChange{ID: request.Name, Path: path, MetadataPath: filepath.Join(path, store.MetadataFile), Schema: name},
		Created: scaffold.Created,
		Root:    info,
	}, nil
}

// newFiles returns the files of a new change. If withoutSpecs is set, the metadata sets skip_specs.
func newFiles(request CreateRequest, schema string, withoutSpecs bool, now time.Time) ([]store.File, error) {
	root := &frontmatter.Node{Kind: frontmatter.Mapping}
	set := func(key string, value *frontmatter.Node) {
		root.Children = append(root.Children, &frontmatter.Node{Text: key}, value)
	}
	set("schema", frontmatter.String(schema))
	set("created", &frontmatter.Node{Text: now.Format(time.DateOnly)}) // the date must not be quoted
	if request.Goal != "" {
		set("goal", goalNode(request.Goal))
	}
	if withoutSpecs {
		set("skip_specs", &frontmatter.Node{Text: "true"})
	}
	meta, err := frontmatter.Encode(root)
	if err != nil {
		return nil, err
	}
	files := []store.File{{Name: store.MetadataFile, Content: meta}}
	if request.Description != "" {
		files = append(files, store.File{Name: store.ReadmeFile, Content: fmt.Sprintf("# %s\n\n%s\n", request.Name, request.Description)})
	}
	return files, nil
}

// indicator matches a text that cannot be a plain scalar, because a character or a sequence in it has a meaning in
// YAML.
var indicator = regexp.MustCompile("^[\\t ,[\\]{}#&*!|>'\"%@`]|^[?-](?:[ \\t]|$)|:[ \\t]|[\\t ]#|[\\t :]$")

// goalNode returns the YAML node for a text, in the style in which the openspec CLI writes the text. This is a literal
// block if the text has several lines. Otherwise it is a plain scalar if possible, or else a quoted scalar.
func goalNode(text string) *frontmatter.Node {
	node := &frontmatter.Node{Text: text}
	switch plain := yamlvalue.KindOfPlain(text) == yamlvalue.String && !indicator.MatchString(text); {
	case strings.Contains(text, "\n"):
		node.Style = frontmatter.Literal
	case plain:
	case strings.Contains(text, `"`) && !strings.Contains(text, "'"):
		node.Style = frontmatter.SingleQuoted
	default:
		node.Style = frontmatter.DoubleQuoted
	}
	return node
}

// wrongName returns the reason why name cannot be the name of a new change; "" if name is valid.
func wrongName(name string) string {
	has := func(chars string) bool { return strings.ContainsAny(name, chars) }
	switch {
	case name == "":
		return "cannot be empty"
	case utf8.RuneCountInString(name) > maxChangeName:
		return fmt.Sprintf("is too long (%d characters max)", maxChangeName)
	case has("ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
		return "must be lowercase (use kebab-case)"
	case has(" \t\n\v\f\r"):
		return "cannot contain spaces (use hyphens instead)"
	case has("_"):
		return "cannot contain underscores (use hyphens instead)"
	case strings.HasPrefix(name, "-"):
		return "cannot start with a hyphen"
	case strings.HasSuffix(name, "-"):
		return "cannot end with a hyphen"
	case strings.Contains(name, "--"):
		return "cannot contain consecutive hyphens"
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return "can only contain lowercase letters, numbers, and hyphens"
	case name == store.ArchiveName:
		return "is reserved"
	}
	return ""
}
