package resolve

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
)

// checkInstalled returns an error with the code DependencyConflict if a chosen version would replace an installed
// version on which another installed package depends. There is no conflict if the other package is replaced, too.
func (w *walk) checkInstalled() error {
	if w.request.Force {
		return nil
	}
	for _, installed := range w.request.Installed {
		if _, replaced := w.chosen[installed.Name]; replaced {
			continue // the package is replaced, and the resolution has checked the dependencies of its new version
		}
		for _, d := range installed.Dependencies {
			has, ok := w.chosen[d.Name]
			if !ok || w.isInstalled(has.Package) {
				continue
			}
			constraint, err := version.ParseConstraint(d.Constraint)
			if err != nil {
				continue // an invalid constraint is ignored
			}
			v, err := version.Parse(has.Version)
			if err == nil && !constraint.Allows(v) {
				return fault.New(fault.DependencyConflict, "%s: %s (chose %s), the installed %s@%s requires %s",
					d.Name, has.by, has.Version, installed.Name, installed.Version, d.Constraint).
					WithHint("Uninstall " + installed.Name + ", or use force to break this dependency")
			}
		}
	}
	return nil
}

// isInstalled reports whether the chosen version of the package is already installed.
func (w *walk) isInstalled(p Package) bool {
	return slices.ContainsFunc(w.request.Installed, func(i lockfile.Entry) bool { return i.Name == p.Name && i.Version == p.Version })
}

// groups returns the packages to install for each spec. Dependencies precede their dependents. In a cycle, groups
// ignores the dependency on a package that it has already visited.
func (w *walk) groups(specs []pkgname.Spec) []Group {
	var groups []Group
	for _, spec := range specs {
		o := order{chosen: w.chosen, seen: map[string]bool{}}
		o.add(spec.Name)
		groups = append(groups, Group{spec, o.packages})
	}
	return groups
}

type order struct {
	chosen   map[string]*choice
	seen     map[string]bool
	packages []Package
}

func (o *order) add(name string) {
	if o.seen[name] {
		return
	}
	o.seen[name] = true
	for _, d := range o.chosen[name].Dependencies {
		o.add(d.Name)
	}
	o.packages = append(o.packages, o.chosen[name].Package)
}
