package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// Project is one of the projects that a server offers besides its own.
type Project struct {
	Name   string
	Places config.Places
	// Area is the same for projects of which one contains the other, so that calls in both never write at the same time.
	Area string
}

// InProject returns f for one of its projects.
func (f *Found) InProject(p Project) *Found {
	in := *f
	in.Project, in.Places, in.Area = p.Name, p.Places, p.Area
	in.Options.Log = f.Options.Log.With("project", p.Name)
	in.SkillsState = in.skillFiles().state()
	return &in
}

// findProjects finds the directories of the projects of c. places are those of the server itself.
func findProjects(c *config.Config, places config.Places) ([]Project, error) {
	var projects []Project
	var problems tomlfile.Problems
	for _, p := range c.Projects {
		in, err := placesIn(places, p.Path)
		if err != nil {
			problems = append(problems, tomlfile.Problem{File: p.File, Line: p.Line, Key: p.Key + ".path", What: err.Error(),
				Remedy: "write the absolute path of an existing directory; it must not be / or contain the home directory"})
			continue
		}
		projects = append(projects, Project{Name: p.Name, Places: in})
	}
	if len(problems) > 0 {
		return nil, &usage.Error{Err: &InvalidError{File: c.File, Included: includedFiles(c), Problems: problems}}
	}
	setAreas(projects, places.Project)
	return projects, nil
}

// projectStates is the directory below that of all state directories for those of projects. No plugin has such a name.
const projectStates = ".projects"

// placesIn returns the places of a server for the project in dir. The state directories belong to the directory, not to the name of the
// project, which the config may give to another directory later.
func placesIn(places config.Places, dir string) (config.Places, error) {
	dir, err := folder(dir)
	if err != nil {
		return places, err
	}
	if places.Broad(dir) {
		return places, usage.Errorf("%s cannot be a project, since everything in it would be granted", dir)
	}
	sum := sha256.Sum256([]byte(dir))
	places.Project, places.NoProject, places.Narrow, places.Around, places.Cwd = dir, "", "", around(places, dir), dir
	places.StatePart = filepath.Join(projectStates, hex.EncodeToString(sum[:16]))
	return places, nil
}

// setAreas sets the areas of projects: the name of the first one of which a chain of projects, each in the next one or around it, leads to
// the project. The area of the server's own project is empty.
func setAreas(projects []Project, own string) {
	var dirs []string
	for _, p := range append([]Project{{Places: config.Places{Project: own}}}, projects...) {
		dirs = append(dirs, p.Places.Project)
	}
	leader := make([]int, len(dirs))
	for i := range dirs {
		leader[i] = i
		for j := range i {
			if leader[i] != leader[j] && (contains(dirs[i], dirs[j]) || contains(dirs[j], dirs[i])) {
				from, to := max(leader[i], leader[j]), min(leader[i], leader[j])
				for k := range i + 1 {
					if leader[k] == from {
						leader[k] = to
					}
				}
			}
		}
	}
	for i := range projects {
		if first := leader[i+1]; first > 0 {
			projects[i].Area = projects[first-1].Name
		}
	}
}

// contains reports whether path is the directory dir or below it, by the identity of directories, since a directory can be mounted at
// several paths. Both paths have their symbolic links resolved; neither contains anything if it is empty.
func contains(dir, path string) bool {
	if dir == "" || path == "" {
		return false
	}
	this, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at := path; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(this, info) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
