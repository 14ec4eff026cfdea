package workspace

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
)

// adopt adds to the ledger what the aam program has deployed since the ledger was written, of packages whose version it
// did not change: artifacts on its platform with exactly the content of the package.
func (w *Workspace) adopt(s *state) error {
	if s.ledger.resolvedAt == s.lock.ResolvedAt || !deploy.Supported(s.otherwise) {
		return nil
	}
	plan := w.plan()
	for at := range s.ledger.packages {
		entry := &s.ledger.packages[at]
		locked, found := s.lock.Find(entry.name)
		if !found || !entry.matches(locked) {
			continue
		}
		for _, d := range w.fromLock(s, entry.name) {
			if slices.ContainsFunc(entry.deployed, d.isAt) {
				continue
			}
			current, err := plan.Current(d.artifact())
			if err != nil {
				continue // it is on a platform that cannot be reached
			}
			if current != "" && slices.Contains(w.digests(s, plan, entry.name, d.artifact()), current) {
				d.digest = current
				entry.deployed = append(entry.deployed, d)
			}
		}
	}
	return nil
}

// Platforms returns the platforms that each installed package is deployed to. If it is not known where the aam program
// has deployed one, that is the default platform.
func (w *Workspace) Platforms(defaultPlatform string) (map[string][]string, error) {
	s, err := w.read(defaultPlatform)
	if err != nil {
		return nil, err
	}
	platforms := map[string][]string{}
	for _, name := range s.installed {
		deployed, err := w.deployedOf(s, name)
		if err != nil {
			return nil, err
		}
		for _, d := range deployed {
			if !slices.Contains(platforms[name], d.platform) {
				platforms[name] = append(platforms[name], d.platform)
			}
		}
	}
	return platforms, nil
}

// isAt reports whether two deployments have one place.
func (d deployment) isAt(other deployment) bool { return d.artifact() == other.artifact() }

// fromLock returns the deployments that the aam program makes for an installed package.
func (w *Workspace) fromLock(s *state, name string) []deployment {
	var all []deployment
	if m := w.manifest(s, name); m != nil && deploy.Supported(s.otherwise) {
		for _, a := range m.Artifacts {
			all = append(all, deployment{platform: s.otherwise, typ: a.Type, name: a.Name})
		}
	}
	return all
}

// digests returns the digests of an artifact of an installed package; none if the package does not have it, or cannot be
// read.
func (w *Workspace) digests(s *state, plan *deploy.Plan, name string, of deploy.Artifact) []string {
	m := w.manifest(s, name)
	if m == nil {
		return nil
	}
	a, found := artifact(m, of.Type, of.Name)
	if !found {
		return nil
	}
	digests, err := plan.Digests(of.Platform, w.PackageDir(name), a)
	if err != nil {
		return nil // a damaged package owns nothing
	}
	return digests
}

// deployedOf returns the deployments of a package: those in the ledger if it belongs to the lock file, else those that
// the aam program makes for the package in the lock file. Then the ledger adds only what has kept the content that it
// records.
func (w *Workspace) deployedOf(s *state, name string) ([]deployment, error) {
	recorded := s.ledger.of(name)
	locked, found := s.lock.Find(name)
	if found && recorded != nil && recorded.matches(locked) {
		return slices.Clone(recorded.deployed), nil
	}
	var all []deployment
	if found {
		all = w.fromLock(s, name)
	}
	if recorded == nil {
		return all, nil
	}
	plan := w.plan()
	for _, d := range recorded.deployed {
		if slices.ContainsFunc(all, d.isAt) {
			continue
		}
		current, err := plan.Current(d.artifact())
		if err != nil {
			return nil, err
		}
		if current == "" || d.digest != current && (d.digest != "" || found) {
			continue
		}
		if d.version == "" {
			d.version = recorded.version
		}
		all = append(all, d)
	}
	return all, nil
}

// owns reports whether content is one that the ledger records for a place, or that an installed package has there.
func (w *Workspace) owns(s *state, plan *deploy.Plan, at deploy.Artifact, digest string) bool {
	for _, entry := range s.ledger.packages {
		for _, d := range entry.deployed {
			if d.artifact() == at && d.digest == digest {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.installed, func(name string) bool {
		return slices.Contains(w.digests(s, plan, name, at), digest)
	})
}

// Orphans returns, by package, what is deployed but belongs to no installed package: what only the ledger knows, because
// the aam program has uninstalled or replaced the package, and, by the package "", sections that no package has.
func (w *Workspace) Orphans(defaultPlatform string) (map[string][]string, error) {
	s, err := w.load(defaultPlatform)
	if err != nil {
		return nil, err
	}
	orphans, plan := map[string][]string{}, w.plan()
	for _, entry := range s.ledger.packages {
		if locked, found := s.lock.Find(entry.name); found && entry.matches(locked) {
			continue
		}
		deployed, err := w.deployedOf(s, entry.name)
		if err != nil {
			return nil, err
		}
		for _, d := range deployed {
			current, err := plan.Current(d.artifact())
			if err != nil {
				return nil, err
			}
			known := slices.ContainsFunc(s.installed, func(name string) bool {
				return slices.Contains(w.digests(s, plan, name, d.artifact()), current)
			})
			if known || current == "" || d.digest == "" && slices.Contains(s.installed, entry.name) {
				continue
			}
			path, err := plan.At(d.artifact())
			if err != nil {
				return nil, err
			}
			orphans[entry.name] = append(orphans[entry.name], w.shown(path))
		}
	}
	return orphans, w.orphanedSections(s, plan, orphans)
}

// orphanedSections adds the sections that neither an installed package nor the ledger has.
func (w *Workspace) orphanedSections(s *state, plan *deploy.Plan, orphans map[string][]string) error {
	sections, err := plan.Sections()
	for _, section := range sections {
		known := slices.ContainsFunc(s.ledger.packages, func(entry ledgerEntry) bool {
			return slices.ContainsFunc(entry.deployed, func(d deployment) bool { return d.artifact() == section.Artifact })
		})
		for _, name := range s.installed {
			if m := w.manifest(s, name); m != nil && !known {
				_, known = artifact(m, section.Type, section.Name)
			}
		}
		if !known {
			orphans[""] = append(orphans[""], w.shown(section.Path)+" ("+string(section.Type)+" "+section.Name+")")
		}
	}
	return err
}
