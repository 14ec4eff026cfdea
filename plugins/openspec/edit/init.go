package edit

import (
	"errors"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

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
	ProjectPath  string           `json:"projectPath"`
	OpenspecPath string           `json:"openspecPath"`
	OpenspecDir  string           `json:"openspecDir"`
	ExtendMode   bool             `json:"extendMode"` // the openspec directory existed before the call
	Created      []string         `json:"created"`
	Existing     []string         `json:"existing"`
	ConfigFile   string           `json:"configFile"` // one of "created" and "exists"
	Migrated     bool             `json:"migrated"`   // always false, because Init moves no files
	Tools        InitTools        `json:"tools"`
	Root         project.RootInfo `json:"root"`
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
func Init(p *project.Project, tools []string) (_ *InitResult, err error) {
	defer project.Convert(&err, "init_error", "", false)
	root, info := toMake(p)
	if err := p.RecoverRoot(root); err != nil {
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
		Created:      append([]string{}, scaffold.Created...),
		Existing:     append([]string{}, scaffold.Existing...),
		ConfigFile:   configFile,
		Tools:        InitTools{Selected: append([]string{}, tools...), Created: []string{}, Skipped: append([]string{}, tools...)},
		Root:         info,
	}
	if len(tools) > 0 {
		result.Tools.Note = "This tool writes no files for assistants; run openspec init --tools to write them."
	}
	return result, nil
}

// toMake returns the root whose missing parts Init creates. It never returns a root whose directory has the old, hidden
// name .openspec.
func toMake(p *project.Project) (*store.Root, project.RootInfo) {
	root, info := p.FindOrHere()
	if filepath.Base(root.Dir) != store.DirName {
		return store.At(p.Files, root.Path), info
	}
	return root, info
}
