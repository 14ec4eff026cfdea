package discovery

import (
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// stateCheck checks the state directories that projects name: plugins of one project could write the state of another one, or their own locks.
type stateCheck struct {
	places config.Places
	known  map[string]os.FileInfo // see chain
	others []location             // which state directories must not overlap
}

// location is a directory by the path that the config states, by its resolved path, and by identity.
type location struct {
	name       string // for messages
	path, real string
	chain      []os.FileInfo // none if it does not exist
	parents    []os.FileInfo // of the nearest existing ancestor
}

// newStateCheck returns the check for state directories of projects. places are those of the server.
func newStateCheck(projects []config.Project, places config.Places) *stateCheck {
	c := &stateCheck{places: places, known: map[string]os.FileInfo{}}
	c.append(c.locate("the server's project", places.Project))
	c.append(c.locate("the server's state directory", places.State))
	for _, p := range projects {
		c.append(c.locate("the project "+p.Name, p.Path))
	}
	return c
}

func (c *stateCheck) append(l location) {
	if l.path != "" {
		c.others = append(c.others, l)
	}
}

// locate resolves the symbolic links of a path as far as it exists: the directories that contain the one that a link leads to are not those that
// contain the link.
func (c *stateCheck) locate(name, path string) location {
	if path == "" {
		return location{}
	}
	nearest, real := path, ""
	for {
		var err error
		if real, err = filepath.EvalSymlinks(nearest); err == nil || nearest == filepath.Dir(nearest) {
			break
		}
		nearest = filepath.Dir(nearest)
	}
	l := location{name: name, path: path, real: path, parents: chain(real, c.known)}
	if missing, err := filepath.Rel(nearest, path); err == nil {
		l.real = filepath.Join(real, missing)
	}
	l.chain = chain(l.real, c.known)
	return l
}

// add returns an error if the state directory of a project cannot be used, or overlaps with a project, with the state directory of one of the
// projects before it, or with that of the server.
func (c *stateCheck) add(p config.Project) error {
	if p.State == "" {
		return nil
	}
	state := c.locate("the state directory of the project "+p.Name, p.State)
	if c.places.Broad(p.State) || c.places.Broad(state.real) {
		return usage.Errorf("%s cannot be the state directory, since the home directory is in it", p.State)
	}
	for _, other := range c.others {
		if state.overlaps(other) {
			return usage.Errorf("%s overlaps with %s, %s", p.State, other.name, other.path)
		}
	}
	c.append(state)
	if err := ownedpath.CheckState(p.State); err != nil {
		return usage.Errorf("%s", ownedpath.Explain(err))
	}
	return nil
}

// overlaps reports whether one of two directories is the other or contains it. Paths are compared too, since neither may exist yet, and a
// symbolic link in a directory may be replaced by who can write there.
func (l location) overlaps(other location) bool {
	return contains(other.chain, l.parents) || contains(l.chain, other.parents) ||
		contain.Within(other.path, l.path) || contain.Within(l.path, other.path) || contain.Within(other.real, l.real) || contain.Within(l.real, other.real)
}
