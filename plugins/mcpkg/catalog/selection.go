package catalog

import (
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// The environment variables that select a project and its store.
const (
	projectVariable   = "MCPKG_PROJECT"
	workspaceVariable = "MCPKG_WORKSPACE"
	createVariable    = "MCPKG_CREATE"
	stateVariable     = "BULKHEAD_STATE"
)

const defaultWorkspace = "default"

// createNever is the value of the variable MCPKG_CREATE that requires the project to exist.
const createNever = "never"

// Selection selects the project that this plugin serves, and the store of the project.
type Selection struct {
	State     string // the directory of the store
	Workspace string
	Project   string
	MustExist bool // every operation fails if the project does not exist
}

// Select reads a Selection from environment variables. Select treats an empty variable as unset.
func Select(getenv func(name string) string) (Selection, error) {
	s := Selection{State: getenv(stateVariable), Workspace: getenv(workspaceVariable), Project: getenv(projectVariable)}
	if s.Project == "" {
		return s, fmt.Errorf("--project flag is required: grant the variable %s to this plugin (bulkhead serve --env %[1]s=NAME, or env in bulkhead.toml)", projectVariable)
	}
	if err := item.CheckName("Project", s.Project); err != nil {
		return s, err
	}
	if s.Workspace == "" {
		s.Workspace = defaultWorkspace
	}
	if err := item.CheckName("Workspace", s.Workspace); err != nil {
		return s, err
	}
	switch create := getenv(createVariable); create {
	case "":
	case createNever:
		s.MustExist = true
	default:
		return s, fmt.Errorf("%s is '%s': set it to '%s' or unset it", createVariable, item.Show(create), createNever)
	}
	if s.State == "" {
		return s, errors.New("this plugin has no state directory: set HOME or XDG_STATE_HOME in the environment of the host")
	}
	return s, nil
}
