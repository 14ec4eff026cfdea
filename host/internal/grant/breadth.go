package grant

import (
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/host/config"
)

// Breadth says how much a directory holds.
type Breadth int

// In ascending order; Home and what follows is broad: with it everything of the user's is granted.
const (
	InProject    Breadth = iota // the project, or a directory in it
	Outside                     // a directory that does not lie in the project
	HoldsProject                // the project lies in it
	Home                        // the whole home directory
	HoldsHome                   // the home directory lies in it
	Root                        // the whole file system
)

func (b Breadth) String() string {
	return [...]string{
		"in the project", "outside the project", "holds the project", "the whole home directory",
		"holds the whole home directory", "the whole file system",
	}[b]
}

// Broad tells whether everything of the user's lies in such a directory.
func (b Breadth) Broad() bool { return b >= Home }

// BreadthOf judges a path, as it is or resolved.
func BreadthOf(path string, places config.Places) Breadth {
	switch {
	case path == "/":
		return Root
	case places.Home != "" && path == places.Home:
		return Home
	case places.Broad(path):
		return HoldsHome
	case places.Project != "" && within(path, places.Project):
		return InProject
	case places.Project != "" && within(places.Project, path):
		return HoldsProject
	}
	return Outside
}

// resolve walks a granted path and judges where it leads.
func (w *walker) resolve(kind, path string, places config.Places) (*place, error) {
	path = filepath.Clean(path)
	p, err := w.walk(path)
	if link := (*linkError)(nil); asLink(err, &link) {
		return nil, &RefusedError{kind, path, link.Error(), grantItself(keyOf(kind), link.target) + ", or put a directory in place of the link"}
	}
	if err != nil {
		return nil, fmt.Errorf("granted %s %s: %w", kind, path, err)
	}
	if what := broader(path, p, places); what != "" {
		p.close()
		return nil, &RefusedError{kind, path, what, grantItself(keyOf(kind), p.path())}
	}
	return p, nil
}

// broader says that a path leads to more than it names; empty: it does not. Who names a broad directory
// itself means it.
func broader(granted string, p *place, places config.Places) string {
	real := p.path()
	if real == granted {
		return ""
	}
	asked, got := BreadthOf(granted, places), BreadthOf(real, places)
	if len(p.missing) == 0 && !got.Broad() {
		got = max(got, breadthOfID(p.id(), places))
	}
	switch {
	case got.Broad() && got > asked:
		return fmt.Sprintf("it leads to %q, %s", real, got)
	case asked == InProject && got != InProject:
		return fmt.Sprintf("it leads to %q, outside the project", real)
	}
	return ""
}

// breadthOfID finds the home directory, and what holds it, under other names.
func breadthOfID(id FileID, places config.Places) Breadth {
	for dir := places.Home; dir != ""; dir = filepath.Dir(dir) {
		if at, err := identify(dir, true); err == nil && at == id {
			return BreadthOf(dir, places)
		}
		if dir == "/" {
			break
		}
	}
	return InProject
}

func keyOf(kind string) string {
	if kind == Repository {
		return "git"
	}
	return "fs"
}

func grantItself(key, path string) string {
	return fmt.Sprintf("if that is meant, name %q itself in %s of the plugin in %s", path, key, config.FileName)
}
