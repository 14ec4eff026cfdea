// Package resolve selects packages, versions and registries for a set of package specs. Start with Resolve. The package
// accesses registries only through the interface Source.
package resolve

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
)

// maxPackages is the maximum number of packages in a resolution.
const maxPackages = 1000

// Source is a registry as Resolve uses it.
type Source interface {
	Name() string
	// Releases returns the versions of a package. It returns an empty list if the registry does not have the package.
	// Resolve uses only their versions and checksums, and ignores invalid versions.
	Releases(name string) ([]registry.Release, error)
	// Dependencies returns the dependencies of a version that Releases has returned.
	Dependencies(name, version string) ([]manifest.Dependency, error)
}

// Package is a package that Resolve has selected.
type Package struct {
	Name         string
	Version      string // the version as the registry spells it
	Registry     string // the name of the Source that has the version
	Checksum     string
	Dependencies []manifest.Dependency
	Kept         bool // the installed version is kept, so Registry and Checksum are empty
}

// Group holds the packages to install for one spec. Dependencies precede their dependents.
type Group struct {
	Spec     pkgname.Spec
	Packages []Package
}

// Failure is a spec that cannot be resolved, with the reason.
type Failure struct {
	Spec pkgname.Spec
	Err  error
}

// Resolution is the result of Resolve. Each spec is either in Groups or in Failed.
type Resolution struct {
	Groups []Group
	Failed []Failure
	Total  int // number of distinct packages in all groups
}

// Request holds the arguments of Resolve.
type Request struct {
	Specs     []pkgname.Spec
	Sources   []Source // the sources in order of precedence: the first source with a matching version is used
	Installed []lockfile.Entry
	Force     bool // allow that versions are replaced on which installed packages depend
}

// Resolve selects for each package the highest version that the first requester of the package allows. It does not
// backtrack: if a later requester does not allow the selected version, the whole resolution fails with the code
// DependencyConflict. Resolve keeps an installed dependency if all of its requesters allow the installed version. If a
// package is not found, only the specs that require the package fail.
func Resolve(request Request) (*Resolution, error) {
	specs := slices.Clone(request.Specs)
	result := &Resolution{}
	released := map[string]bool{}
	for {
		w := walk{request: request, chosen: map[string]*choice{}, released: released}
		failed, err := w.all(specs)
		if release := new(releaseError); errors.As(err, release) {
			released[release.name] = true // the next pass need not keep the installed version of this package
			continue
		}
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
		// The next pass resolves the other specs without the failed ones, whose dependencies must not constrain the
		// others.
		result.Failed = append(result.Failed, failed...)
		specs = slices.DeleteFunc(specs, func(s pkgname.Spec) bool {
			return slices.ContainsFunc(failed, func(f Failure) bool { return f.Spec == s })
		})
	}
}

// choice is a selected version together with its first requester.
type choice struct {
	Package
	by want // the first request for the package
}

// want is a request for a package by the user or by another package.
type want struct {
	name       string
	constraint string
	by         string       // name@version of the package that makes the request; "" for the user
	spec       pkgname.Spec // the spec of the user that led to the request
}

func (w want) String() string {
	if w.by == "" {
		return "the request for " + w.name + "@" + w.constraint
	}
	return w.by + " requires " + w.constraint
}

// walk is one breadth-first traversal of the dependencies.
type walk struct {
	request Request
	chosen  map[string]*choice
	// released contains the names of the packages whose installed version need not be kept.
	released map[string]bool
}

// releaseError means that one requester allows the installed version of the package called name, and another requester
// does not.
type releaseError struct{ name string }

func (e releaseError) Error() string {
	return "the installed version of " + e.name + " must be replaced"
}

// all traverses the dependencies of the specs, and returns the specs that failed.
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
		if errors.As(err, new(releaseError)) {
			return nil, err
		}
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

// decide selects a version for the request next, and returns requests for the dependencies of that version. If a
// version is already selected, decide checks whether the request allows it.
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
		if !constraint.Allows(v) && has.Kept {
			return nil, releaseError{next.name}
		}
		if !constraint.Allows(v) {
			return nil, fault.New(fault.DependencyConflict, "%s: %s (chose %s), %s", next.name, has.by, has.Version, next).
				WithHint("Request versions that are compatible")
		}
		return nil, nil
	}
	if len(w.chosen) == maxPackages {
		return nil, fault.New(fault.InvalidArgument, "the request requires more than %d packages", maxPackages)
	}
	found, kept := w.installed(next, constraint)
	if !kept {
		if found, err = w.find(next.name, constraint); err != nil {
			return nil, err
		}
	}
	w.chosen[next.name] = &choice{found, next}
	var more []want
	for _, d := range found.Dependencies {
		more = append(more, want{d.Name, d.Constraint, found.Name + "@" + found.Version, next.spec})
	}
	return more, nil
}

// installed returns the installed version of a requested dependency if the constraint allows that version.
func (w *walk) installed(next want, constraint version.Constraint) (Package, bool) {
	if next.by == "" || w.released[next.name] {
		return Package{}, false
	}
	for _, i := range w.request.Installed {
		if i.Name != next.name {
			continue
		}
		v, err := version.Parse(i.Version)
		return Package{Name: i.Name, Version: i.Version, Dependencies: i.Dependencies, Kept: true}, err == nil && constraint.Allows(v)
	}
	return Package{}, false
}

// find returns the highest version that the constraint allows. It takes the version from the first registry that has an
// allowed version.
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
		checksum := releases[slices.Index(texts, best)].Checksum
		return Package{Name: name, Version: best, Registry: source.Name(), Checksum: checksum, Dependencies: dependencies}, nil
	}
	if known {
		return Package{}, fault.New(fault.PackageNotFound, "no registry has a version of package '%s' that satisfies %s", name, constraint)
	}
	return Package{}, fault.New(fault.PackageNotFound, "package '%s' is in no registry", name).WithHint("List registries with aam_registry_list, and find packages with aam_search")
}
