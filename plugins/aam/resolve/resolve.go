// Package resolve finds out which packages, in which versions and from which registries, are installed for
// what is asked for. Resolve is all of it. It reads nothing itself: registries are Sources.
package resolve

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
)

// maxPackages bounds how many packages one call is resolved to.
const maxPackages = 1000

// Source is a registry.
type Source interface {
	Name() string
	// Releases returns the versions of a package; none if the registry lacks it.
	Releases(name string) ([]Release, error)
	// Dependencies returns what one of those versions needs.
	Dependencies(name, version string) ([]manifest.Dependency, error)
}

// Release is a version of a package.
type Release struct {
	Version  string // as it is written; what is no version is passed over
	Checksum string // of its archive; "" if the registry has none
}

// Installed is a package that is there already.
type Installed struct {
	Name         string
	Version      string
	Dependencies []manifest.Dependency
}

// Package is one that is to be installed.
type Package struct {
	Name         string
	Version      string // as the registry has it
	Registry     string // the source's name
	Checksum     string
	Dependencies []manifest.Dependency
}

// Group is what is installed for one of the things asked for: dependencies before those that need them.
type Group struct {
	Spec     pkgname.Spec
	Packages []Package
}

// Failure is something that cannot be installed, and why.
type Failure struct {
	Spec pkgname.Spec
	Err  error
}

// Resolution is the answer. Each spec is in a group or among the failures.
type Resolution struct {
	Groups []Group
	Failed []Failure
	Total  int // of different packages in all groups
}

// Request is what is resolved.
type Request struct {
	Specs     []pkgname.Spec
	Sources   []Source // the first that has a package and a version that will do is taken
	Installed []Installed
	Force     bool // versions may be replaced that other installed packages need
}

// Resolve takes, for each package, the highest version that the first one to ask for it allows. There is no
// way back: if another one needs a different version, that is an error of code DependencyConflict, for all.
// What cannot be found fails alone, with those of the specs that need it.
func Resolve(request Request) (*Resolution, error) {
	specs := slices.Clone(request.Specs)
	result := &Resolution{}
	for {
		w := walk{request: request, chosen: map[string]*choice{}}
		failed, err := w.all(specs)
		if err != nil {
			return nil, err
		}
		if len(failed) == 0 {
			if err := w.checkInstalled(); err != nil {
				return nil, err
			}
			result.Groups, result.Total = w.groups(specs), len(w.chosen)
			return result, nil
		}
		// Without those that fail, what they alone needed does not bind the others.
		result.Failed = append(result.Failed, failed...)
		specs = slices.DeleteFunc(specs, func(s pkgname.Spec) bool {
			return slices.ContainsFunc(failed, func(f Failure) bool { return f.Spec == s })
		})
	}
}

// choice is a package that was decided on.
type choice struct {
	Package
	by want // the first to ask for it
}

// want is that somebody needs a package.
type want struct {
	name       string
	constraint string
	by         string       // the one who needs it, with its version; "" for the user
	spec       pkgname.Spec // on whose behalf
}

func (w want) String() string {
	if w.by == "" {
		return "the request for " + w.name + "@" + w.constraint
	}
	return w.by + " requires " + w.constraint
}

// walk goes from what was asked for to what that needs.
type walk struct {
	request Request
	chosen  map[string]*choice
	order   []string // of choosing
}

// all decides on everything, and returns the specs that cannot be had.
func (w *walk) all(specs []pkgname.Spec) ([]Failure, error) {
	var queue []want
	for _, spec := range specs {
		constraint := spec.Constraint
		if constraint == "" {
			constraint = "*"
		}
		queue = append(queue, want{name: spec.Name, constraint: constraint, spec: spec})
	}
	var failed []Failure
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		more, err := w.decide(next)
		if failure := fault.From(err); failure != nil && failure.Code == fault.DependencyConflict {
			return nil, err
		}
		if err != nil {
			if next.by != "" {
				err = fmt.Errorf("%s: %s: %w", next.name, next, err)
			}
			failed = append(failed, Failure{next.spec, err})
			continue
		}
		queue = append(queue, more...)
	}
	return failed, nil
}

// decide takes a version of what is wanted, if that is not done, and returns what it needs in turn.
func (w *walk) decide(next want) ([]want, error) {
	constraint, err := version.ParseConstraint(next.constraint)
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, "%w", err)
	}
	if has, ok := w.chosen[next.name]; ok {
		v, err := version.Parse(has.Version)
		if err != nil {
			return nil, err
		}
		if !constraint.Allows(v) {
			return nil, fault.New(fault.DependencyConflict, "%s: %s (chose %s), %s", next.name, has.by, has.Version, next).
				WithHint("Ask for versions that can be had together")
		}
		return nil, nil
	}
	if len(w.chosen) == maxPackages {
		return nil, fault.New(fault.InvalidArgument, "more than %d packages would be needed", maxPackages)
	}
	found, err := w.find(next.name, constraint)
	if err != nil {
		return nil, err
	}
	w.chosen[next.name] = &choice{found, next}
	w.order = append(w.order, next.name)
	var more []want
	for _, d := range found.Dependencies {
		more = append(more, want{d.Name, d.Constraint, found.Name + "@" + found.Version, next.spec})
	}
	return more, nil
}

// find returns the highest version that will do, of the first registry that has one.
func (w *walk) find(name string, constraint version.Constraint) (Package, error) {
	if err := pkgname.Check(name); err != nil {
		return Package{}, err
	}
	known := false
	for _, source := range w.request.Sources {
		releases, err := source.Releases(name)
		if err != nil {
			return Package{}, err
		}
		known = known || len(releases) > 0
		texts := make([]string, len(releases))
		for i, release := range releases {
			texts[i] = release.Version
		}
		best, ok := version.Best(constraint, texts)
		if !ok {
			continue
		}
		dependencies, err := source.Dependencies(name, best)
		if err != nil {
			return Package{}, err
		}
		return Package{name, best, source.Name(), releases[slices.Index(texts, best)].Checksum, dependencies}, nil
	}
	if known {
		return Package{}, fault.New(fault.PackageNotFound, "no registry has a version of package '%s' that satisfies %s", name, constraint)
	}
	return Package{}, fault.New(fault.PackageNotFound, "package '%s' is in no registry", name).WithHint("See aam_registry_list for the registries, and aam_search for what is in them")
}
