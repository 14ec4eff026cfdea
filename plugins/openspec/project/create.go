package project

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

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxChangeName is the maximum length of the name of a new change, in characters.
const maxChangeName = 200

// config is the content of the config file in a new project.
const config = `schema: spec-driven

# What everybody who works on a change should know: technologies, conventions, limits.
# context: |
#   Go 1.26, no dependencies outside of the standard library

# Rules for single files of a change.
# rules:
#   proposal:
#     - Name the people who are affected
#   tasks:
#     - Keep each task below half a day
`

// InitResult is the result of Init. Its paths are relative to the project, with slashes.
type InitResult struct {
	ProjectPath  string    `json:"projectPath"`
	OpenspecPath string    `json:"openspecPath"`
	OpenspecDir  string    `json:"openspecDir"`
	ExtendMode   bool      `json:"extendMode"` // the openspec directory existed before the call
	Created      []string  `json:"created"`
	Existing     []string  `json:"existing"`
	ConfigFile   string    `json:"configFile"` // one of "created" and "exists"
	Migrated     bool      `json:"migrated"`   // always false, because Init moves no files
	Tools        InitTools `json:"tools"`
	Root         RootInfo  `json:"root"`
}

// InitTools lists the assistants that the request names.
type InitTools struct {
	Selected []string `json:"selected"`
	Created  []string `json:"created"`
	Skipped  []string `json:"skipped"`
	Note     string   `json:"note,omitempty"`
}

// Init creates the missing directories and files of a project. It does so in the nearest root or, if there is none, in
// the working directory. It changes no existing file. The argument tools contains names of assistants. The openspec CLI
// writes files for assistants, and Init does not.
func (p *Project) Init(tools []string) (*InitResult, error) {
	result, err := p.init(tools)
	if err != nil {
		return nil, asFailure(err, codeInit, "", false)
	}
	return result, nil
}

func (p *Project) init(tools []string) (*InitResult, error) {
	root, info := p.toMake()
	if err := p.recover(root); err != nil {
		return nil, err
	}
	extend := false
	if stat, err := p.Files.Stat(root.Dir); err == nil {
		extend = stat.IsDir()
	}
	configFile := "created"
	if root.Config() != "" {
		configFile = "exists"
	}
	scaffold := root.NewScaffold()
	if err := scaffold.Base(config, true); err != nil {
		return nil, errors.Join(err, scaffold.Undo())
	}
	result := &InitResult{
		ProjectPath:  root.Path,
		OpenspecPath: root.Dir,
		OpenspecDir:  store.DirName,
		ExtendMode:   extend,
		Created:      orEmpty(scaffold.Created),
		Existing:     orEmpty(scaffold.Existing),
		ConfigFile:   configFile,
		Tools:        InitTools{Selected: orEmpty(tools), Created: []string{}, Skipped: orEmpty(tools)},
		Root:         info,
	}
	if len(tools) > 0 {
		result.Tools.Note = "This tool writes no files for assistants; run openspec init --tools to write them."
	}
	return result, nil
}

// toMake returns the root whose missing parts Init creates. It never returns a root whose directory has the old, hidden
// name .openspec.
func (p *Project) toMake() (*store.Root, RootInfo) {
	root, info := p.findOrHere()
	if filepath.Base(root.Dir) != store.DirName {
		return store.At(p.Files, root.Path), info
	}
	return root, info
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// CreateRequest describes the change that CreateChange creates.
type CreateRequest struct {
	Name        string
	Schema      string // the name of the schema; if empty, the default schema of the project
	Description string // the content of README.md; if empty, CreateChange writes no README.md
	Goal        string // the goal in the metadata; if empty, the metadata has no goal
}

// CreateResult is the result of CreateChange.
type CreateResult struct {
	Change  CreatedChange `json:"change"`
	Created []string      `json:"created"` // paths relative to the project, with slashes
	Root    RootInfo      `json:"root"`
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
func (p *Project) CreateChange(request CreateRequest) (*CreateResult, error) {
	result, err := p.createChange(request)
	if err != nil {
		return nil, asFailure(err, codeChange, "change", false)
	}
	return result, nil
}

func (p *Project) createChange(request CreateRequest) (*CreateResult, error) {
	if reason := wrongName(request.Name); reason != "" {
		return nil, errors.New("Change name " + reason)
	}
	root, info := p.toMake()
	if err := p.recover(root); err != nil {
		return nil, err
	}
	w := newWorkflows(root)
	name, err := w.chooseSchema(request.Schema)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root.ChangesDir(), request.Name)
	taken := &Failure{Code: codeChange, Message: fmt.Sprintf("Change '%s' already exists at %s", request.Name, path)}
	if _, err := p.Files.Lstat(path); err == nil {
		return nil, taken
	}
	schema, err := w.load(name)
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

// chooseSchema returns the name of the workflow schema for a new change. This is the schema that the request asks for,
// or the default schema of the project.
func (w *workflows) chooseSchema(asked string) (string, error) {
	available, err := w.available()
	if err != nil {
		return "", err
	}
	if asked != "" && !slices.Contains(available, asked) {
		return "", noSchema(asked, available)
	}
	if asked == "" {
		if asked, err = w.defaultName(); err != nil {
			return "", err
		}
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

// noSchema returns the error for a schema that a request names and that does not exist.
func noSchema(name string, available []string) error {
	return fmt.Errorf("Schema '%s' not found. Available schemas:\n  %s", name, strings.Join(available, "\n  ")) //lint:ignore ST1005 the wording of the openspec CLI
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
