// Package project tells which project and which machine a call is about: overlays belong to one of them.
package env

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// Git answers what is asked about the repository that holds the working directory.
type Git interface {
	// TopLevel returns the top level of the repository that holds a path; "" if none does.
	TopLevel(path string) (string, error)
	// Origin returns the URL of the remote origin; "" if there is none.
	Origin(repo string) (string, error)
}

// Project is where the user works.
type Project struct {
	Root   string // absolute, without links
	Origin string // "" if there is none
	ID     string
}

// Detect finds the project that the working directory is in. A repository that cannot be asked is as good
// as none; a warning says so, since the project's overlays are then not found.
func DetectProject(at Env, git Git) (Project, []string) {
	project, warnings := Project{Root: at.Cwd}, []string(nil)
	top, err := git.TopLevel(at.Cwd)
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("the project is identified by its folder, not its repository: %s", err))
	}
	if top != "" {
		project.Root = filepath.Clean(top)
		origin, err := git.Origin(project.Root)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the project is identified by its folder, not its origin: %s", err))
		}
		project.Origin = strings.TrimSpace(origin)
	}
	project.ID = ProjectID(project.Origin, project.Root)
	return project, warnings
}

// ID is the id of the project with an origin or, without one, at a folder.
func ProjectID(origin, root string) string {
	identity := NormalizeOrigin(origin)
	if identity == "" {
		identity = root
	}
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:])[:16]
}

// Normalize makes one text of the ways to write the URL of the same repository.
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

// Machine is the id of the machine: what the caller says, else the first of the variables that holds one,
// else "unknown".
func MachineID(at Env, named string) string {
	for _, candidate := range []string{named, at.Var("AGENTPACK_MACHINE_ID"), at.Var("HOSTNAME"), at.Var("COMPUTERNAME")} {
		if id := NormalizeMachineID(candidate); id != "" {
			return id
		}
	}
	return "unknown"
}
