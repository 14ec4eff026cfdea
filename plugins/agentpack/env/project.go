package env

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// Git queries the repository that contains the working directory.
type Git interface {
	// TopLevel returns the top level of the repository that contains path; "" if there is no repository.
	TopLevel(path string) (string, error)
	// Origin returns the URL of the remote origin without credentials, or "" if the repository has no remote origin. If
	// the URL has credentials, Origin also returns the project id, which is a hash of the URL with its credentials.
	Origin(repo string) (url, id string, err error)
}

// Project is the project on which a call works.
type Project struct {
	Root   string // the root directory, as an absolute path with symbolic links resolved
	Origin string // the URL of the remote origin without credentials; "" if there is no remote origin
	ID     string
}

// DetectProject finds the project that contains the working directory. If git fails, DetectProject derives the project
// id from the directory, so agentpack may not find the overlays of the project; a warning says so.
func DetectProject(at Env, git Git) (Project, []string) {
	project, id, warnings := Project{Root: at.Cwd}, "", []string(nil)
	top, err := git.TopLevel(at.Cwd)
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("the project is identified by its directory, because its git repository cannot be found: %s", err))
	}
	if top != "" {
		project.Root = filepath.Clean(top)
		var origin string
		origin, id, err = git.Origin(project.Root)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the project is identified by its directory, because the origin of its git repository cannot be read: %s", err))
		}
		project.Origin = strings.TrimSpace(origin)
	}
	project.ID = cmp.Or(id, ProjectID(project.Origin, project.Root))
	return project, warnings
}

// ProjectID returns the id of a project. The id is a hash of the normalized origin or, if the project has no origin, of
// the root directory.
func ProjectID(origin, root string) string {
	identity := NormalizeOrigin(origin)
	if identity == "" {
		identity = root
	}
	return digest.Hex([]byte(identity))[:16]
}

// NormalizeOrigin returns a canonical form of the URL of a repository. Different spellings of one URL have the same
// canonical form.
func NormalizeOrigin(origin string) string {
	url := strings.TrimSpace(origin)
	for strings.HasSuffix(url, ".git") {
		url = strings.TrimSuffix(url, ".git")
	}
	if rest, ok := strings.CutPrefix(url, "git@"); ok {
		return strings.ToLower(strings.ReplaceAll(rest, ":", "/"))
	}
	url = strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://")
	return strings.ToLower(url)
}

// UnknownMachine is the id of a machine whose name is unknown.
const UnknownMachine = "unknown"

// MachineID returns the id of the machine, which it takes from the first usable source: the argument named, and the
// variables AGENTPACK_MACHINE_ID, HOSTNAME and COMPUTERNAME. If no source is usable, it returns UnknownMachine.
func MachineID(at Env, named string) string {
	for _, candidate := range []string{named, at.Var("AGENTPACK_MACHINE_ID"), at.Var("HOSTNAME"), at.Var("COMPUTERNAME")} {
		if id := NormalizeMachineID(candidate); id != "" {
			return id
		}
	}
	return UnknownMachine
}
