package grant

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Breadth states how much of the user's files a directory contains.
type Breadth int

// Values of Breadth, in ascending order. Directories of breadth Home and above contain all of the user's files.
const (
	InProject    Breadth = iota // the project, or a directory in it
	Outside                     // a directory outside of the project
	HoldsProject                // an ancestor of the project
	Home                        // the whole home directory
	HoldsHome                   // an ancestor of the home directory
	Root                        // the whole file system
)

func (b Breadth) String() string {
	return [...]string{
		"in the project", "outside the project", "holds the project", "the whole home directory",
		"holds the whole home directory", "the whole file system",
	}[b]
}

// Broad reports whether a directory of this breadth contains all of the user's files.
func (b Breadth) Broad() bool { return b >= Home }

// breadthOf returns the breadth of the directory at path, which may be lexical or resolved.
func breadthOf(path string, places config.Places) Breadth {
	switch {
	case path == filepath.Dir(path):
		return Root
	case path == places.Home:
		return Home
	case places.Broad(path):
		return HoldsHome
	case contain.Within(places.Project, path): // no path is within the empty one
		return InProject
	case contain.Within(path, places.Project):
		return HoldsProject
	}
	return Outside
}

// resolve resolves a granted path and checks the breadth of the result. If within is not nil, the resolved path must be in one
// of the directories within.
func (w *walker) resolve(kind, path string, places config.Places, within []string) (*place, error) {
	path = filepath.Clean(path)
	p, err := w.walk(path)
	if link, ok := errors.AsType[*linkError](err); ok {
		return nil, &refusedError{kind, path, link.Error(), grantItself(keyOf(kind), link.target) + ", or replace the link by a directory"}
	}
	if err != nil {
		return nil, fmt.Errorf("granted %s %s: %w", kind, path, err)
	}
	if what := broader(path, p, places); what != "" {
		p.close()
		return nil, &refusedError{kind, path, what, grantItself(keyOf(kind), p.path())}
	}
	if within != nil && !slices.ContainsFunc(within, func(dir string) bool { return contain.Within(dir, p.path()) }) {
		what := fmt.Sprintf("it resolves to %q, outside of %s, which the ceiling of this machine allows", p.path(), strings.Join(within, ", "))
		p.close()
		return nil, &refusedError{kind, path, what, "grant a directory there, or ask the administrator of this machine"}
	}
	return p, nil
}

// broader describes how a granted path resolves to a broader directory than the path names; empty if it does not. A path that
// itself names a broad directory is accepted, since the admin wrote that path.
func broader(granted string, p *place, places config.Places) string {
	real := p.path()
	if real == granted {
		return ""
	}
	asked, got := breadthOf(granted, places), breadthOf(real, places)
	if len(p.missing) == 0 {
		got = max(got, breadthOfID(p.id(), places))
	}
	switch {
	case got.Broad() && got > asked:
		return fmt.Sprintf("it resolves to %q, %s", real, got)
	case asked == InProject && got != InProject:
		return fmt.Sprintf("it resolves to %q, outside the project", real)
	}
	return ""
}

// breadthOfID recognizes the home directory and its ancestors by their identity, whatever path leads to them.
func breadthOfID(id FileID, places config.Places) Breadth {
	for dir := places.Home; dir != ""; dir = filepath.Dir(dir) {
		if at, err := identify(dir, true); err == nil && at == id {
			return breadthOf(dir, places)
		}
		if dir == filepath.Dir(dir) {
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
	return fmt.Sprintf("if that is intended, add %q itself to the plugin's key %s in %s", path, key, config.FileName)
}
