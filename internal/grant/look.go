package grant

import (
	"errors"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
)

// Look resolves a granted path by the rules of Resolve, within as in config.Mount, without keeping a handle or creating anything. With a
// *RefusedError it returns the path as far as it could be resolved.
func Look(kind, path string, places config.Places, writable, within []string) (Place, error) {
	p, err := newWalker(places, writable, nil).resolve(kind, path, places, within)
	if err != nil {
		return Place{Path: resolved(path), Breadth: BreadthOf(resolved(path), places)}, err
	}
	defer p.close()
	return Place{Path: p.path(), Breadth: BreadthOf(p.path(), places), Exists: len(p.missing) == 0}, nil
}

// Place is a resolved granted path.
type Place struct {
	Path    string
	Breadth Breadth
	Exists  bool
}

// Writable returns the resolved directories that any of the grants lets a plugin write, for Config.Writable.
func Writable(places config.Places, grants ...config.Grant) []string {
	var mounts []config.Mount
	for _, g := range grants {
		mounts = append(mounts, g.FS...)
	}
	return newWalker(places, nil, nil).guardMounts(places, mounts)
}

func asLink(err error, link **linkError) bool { return errors.As(err, link) }
