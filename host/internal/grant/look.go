package grant

import (
	"errors"

	"github.com/bulkhead-mcp/bulkhead/host/config"
)

// Look says where a granted path leads and how much it holds, by the rules of Resolve, of which it changes
// and keeps nothing. With a *RefusedError it says where the path leads as far as that was found out.
func Look(kind, path string, places config.Places, writable []string) (Place, error) {
	p, err := newWalker(places, writable, nil).resolve(kind, path, places)
	if err != nil {
		return Place{Path: resolved(path), Breadth: BreadthOf(resolved(path), places)}, err
	}
	defer p.close()
	return Place{Path: p.path(), Breadth: BreadthOf(p.path(), places), Exists: len(p.missing) == 0}, nil
}

// Place is where a granted path leads.
type Place struct {
	Path    string
	Breadth Breadth
	Exists  bool
}

// Writable are the directories that any of some grants lets a plugin write, resolved, for Config.Writable.
func Writable(places config.Places, grants ...config.Grant) []string {
	var mounts []config.Mount
	for _, g := range grants {
		mounts = append(mounts, g.FS...)
	}
	return newWalker(places, nil, nil).guardMounts(places, mounts)
}

func asLink(err error, link **linkError) bool { return errors.As(err, link) }
