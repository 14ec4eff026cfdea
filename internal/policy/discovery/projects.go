package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"

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
	return &in
}

// findProjects finds the directories of the projects of c. places are those of the server itself.
func findProjects(c *config.Config, places config.Places) ([]Project, error) {
	var projects []Project
	var problems tomlfile.Problems
	for _, p := range c.Projects {
		in, err := placesIn(places, p)
		if err != nil {
			problems = append(problems, tomlfile.Problem{File: p.File, Line: p.Line, Key: p.Key + ".path", What: err.Error(),
				Remedy: "write the absolute path of an existing directory; it must not be / or contain the home directory"})
			continue
		}
		projects = append(projects, Project{Name: p.Name, Places: in})
	}
	states := newStateCheck(c.Projects, places)
	for _, p := range c.Projects {
		if err := states.add(p); err != nil {
			problems = append(problems, tomlfile.Problem{File: p.File, Line: p.StateLine, Key: p.Key + ".state", What: err.Error(),
				Remedy: "write the absolute path of a directory of its own, outside of all projects; it is created if its parent exists"})
		}
	}
	if len(problems) > 0 {
		return nil, &usage.Error{Err: &InvalidError{File: c.File, Included: includedFiles(c), Problems: problems}}
	}
	setAreas(projects, places.Project)
	return projects, nil
}

// projectStates is the directory below that of all state directories for those of projects. No plugin has such a name.
const projectStates = ".projects"

// placesIn returns the places of a server for a project. Without a directory of its own for them, the state directories belong to the directory
// of the project, not to its name, which the config may give to another directory later.
func placesIn(places config.Places, project config.Project) (config.Places, error) {
	dir, err := folder(project.Path)
	if err != nil {
		return places, err
	}
	if places.Broad(dir) {
		return places, usage.Errorf("%s cannot be a project, since everything in it would be granted", dir)
	}
	places.Project, places.NoProject, places.Narrow, places.Around, places.Cwd = dir, "", "", around(places, dir), dir
	if project.State != "" {
		places.State, places.NoState, places.StatePart = project.State, "", ""
		return places, nil
	}
	sum := sha256.Sum256([]byte(dir))
	places.StatePart = filepath.Join(projectStates, hex.EncodeToString(sum[:16]))
	return places, nil
}

// setAreas sets the areas of projects: the name of the first one of which a chain of projects, each in the next one or around it, leads to
// the project. The area of the server's own project is empty.
func setAreas(projects []Project, own string) {
	known := map[string]os.FileInfo{}
	dirs := [][]os.FileInfo{chain(own, known)}
	for _, p := range projects {
		dirs = append(dirs, chain(p.Places.Project, known))
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

// chain returns a directory and those around it, from the inside to the outside; none if dir is empty or does not exist. Directories are
// compared by identity, since one can be mounted at several paths. Each path is looked up once for all projects: known has them.
func chain(dir string, known map[string]os.FileInfo) (chain []os.FileInfo) {
	if dir == "" {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, ok := known[at]
		if !ok {
			info, _ = os.Stat(at) // nil if it does not exist
			known[at] = info
		}
		if info == nil && at == dir {
			return nil
		}
		if info != nil {
			chain = append(chain, info)
		}
		if at == filepath.Dir(at) {
			return chain
		}
	}
}

// contains reports whether the first directory of path is the first one of dir, or below it.
func contains(dir, path []os.FileInfo) bool {
	return len(dir) > 0 && slices.ContainsFunc(path, func(at os.FileInfo) bool { return os.SameFile(dir[0], at) })
}
