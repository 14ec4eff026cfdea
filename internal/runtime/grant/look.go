package grant

import (
	"io/fs"
	"os"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Looker resolves granted paths by the rules of Resolve. It keeps no handle and creates nothing. It looks at the guarded directories once, when it is
// made, and so is for one look at an installation.
type Looker struct {
	walker *walker
	places config.Places
}

// NewLooker returns a Looker. writable are all directories that plugins may write, as Writable returns them.
func NewLooker(places config.Places, writable []string) *Looker {
	return &Looker{newWalker(places, writable, nil), places}
}

// Look resolves a granted path. within has the meaning of config.Mount.Within. If the error is a *refusedError, the returned path is resolved as
// far as possible.
func (l *Looker) Look(kind, path string, within []string) (Place, error) {
	p, err := l.walker.resolve(kind, path, l.places, within)
	if err != nil {
		resolved := Resolved(path)
		return Place{Path: resolved, Breadth: breadthOf(resolved, l.places)}, err
	}
	defer p.close()
	return Place{Path: p.path(), Breadth: breadthOf(p.path(), l.places), Exists: len(p.missing) == 0}, nil
}

// Open opens a granted directory by the rules of Resolve, and returns its resolved path. If it does not exist, the error is fs.ErrNotExist. The
// other parameters are those of NewLooker and Looker.Look.
func Open(path string, places config.Places, writable, within []string) (*os.File, string, error) {
	p, err := newWalker(places, writable, nil).resolve(Directory, path, places, within)
	if err != nil {
		return nil, "", err
	}
	defer p.close()
	if len(p.missing) > 0 {
		return nil, "", fs.ErrNotExist
	}
	return p.take(), p.path(), nil
}

// Place is a granted path after its resolution.
type Place struct {
	Path    string
	Breadth Breadth
	Exists  bool
}

// Writable returns the resolved directories that at least one of the grants lets a plugin write. They are meant for Config.Writable.
func Writable(places config.Places, grants ...config.Grant) []string {
	var mounts []config.Mount
	for _, g := range grants {
		mounts = append(mounts, g.FS...)
	}
	return newWalker(places, nil, nil).guardMounts(places, mounts)
}

// Reaches reports whether one of paths is in a directory or repository of the grant g, or is an ancestor of one.
func Reaches(g config.Grant, paths []string) bool {
	var granted []string
	for _, m := range g.FS {
		granted = append(granted, Resolved(m.Path))
	}
	for _, r := range g.Git {
		granted = append(granted, Resolved(r.Repo))
	}
	for _, path := range paths {
		path = Resolved(path)
		if slices.ContainsFunc(granted, func(dir string) bool { return contain.Within(dir, path) || contain.Within(path, dir) }) {
			return true
		}
	}
	return false
}
