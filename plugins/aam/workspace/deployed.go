package workspace

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
)

// adopt adds to the ledger the deployments that the aam program has made since the ledger was written. It examines the
// packages whose version the aam program did not change. It adds the artifacts of such a package on the default
// platform if the deployed content equals the content in the package.
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
				continue // the platform's directory is not accessible
			}
			if current != "" && slices.Contains(w.digests(s, plan, entry.name, d.artifact()), current) {
				d.digest = current
				entry.deployed = append(entry.deployed, d)
			}
		}
	}
	return nil
}

// Platforms returns the platforms to which each installed package is deployed. For a package that the aam program has
// deployed to an unknown platform, it returns the default platform.
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

// isAt reports whether two deployments have the same artifact type and name on the same platform.
func (d deployment) isAt(other deployment) bool { return d.artifact() == other.artifact() }

// fromLock returns the deployments that the aam program would make for an installed package.
func (w *Workspace) fromLock(s *state, name string) []deployment {
	var all []deployment
	if m := w.manifest(s, name); m != nil && deploy.Supported(s.otherwise) {
		for _, a := range m.Artifacts {
			all = append(all, deployment{platform: s.otherwise, typ: a.Type, name: a.Name})
		}
	}
	return all
}

// digests returns the digests that a deployed artifact of an installed package can have. If the package does not have
// the artifact or cannot be read, digests returns nil.
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
		return nil // a damaged package owns no deployed content
	}
	return digests
}

// deployedOf returns the deployments of a package. If the ledger entry of the package matches the lock file, deployedOf
// returns the deployments in that entry. Otherwise it returns the deployments that the aam program would make for the
// package in the lock file, together with the deployments in the ledger entry whose content has not changed since.
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

// owns reports whether a package has deployed the content with the given digest at the place of an artifact. This is
// the case if the ledger records the digest for the artifact, or if an installed package would deploy this content.
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

// Deployments holds the deployments of a project: the ledger, together with the lock file to which the ledger is
// compared.
type Deployments struct {
	workspace *Workspace
	lock      *lockfile.Lock
	ledger    *ledger
}

// Deployments reads the ledger of the workspace.
func (w *Workspace) Deployments(lock *lockfile.Lock) (*Deployments, error) {
	l, _, err := w.readLedger()
	if err != nil {
		return nil, err
	}
	return &Deployments{w, lock, l}, nil
}

// Orphans returns the paths of deployments that belong to no installed package. The key is the name of the package that
// made the deployments, which are in the ledger although the aam program has uninstalled or replaced the package. The
// key "" holds sections that belong to no package.
func (d *Deployments) Orphans(defaultPlatform string) (map[string][]string, error) {
	w, s := d.workspace, newState(d.lock, defaultPlatform)
	s.ledger = d.ledger
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

// orphanedSections adds to orphans the sections that belong neither to an installed package nor to a deployment in the
// ledger.
func (w *Workspace) orphanedSections(s *state, plan *deploy.Plan, orphans map[string][]string) error {
	sections, err := plan.Sections()
	for _, section := range sections {
		known := slices.ContainsFunc(s.ledger.packages, func(entry ledgerEntry) bool {
			return slices.ContainsFunc(entry.deployed, func(d deployment) bool { return d.artifact() == section.Artifact })
		})
		for _, name := range s.installed {
			if known {
				break
			}
			if m := w.manifest(s, name); m != nil {
				_, known = artifact(m, section.Type, section.Name)
			}
		}
		if !known {
			orphans[""] = append(orphans[""], w.shown(section.Path)+" ("+string(section.Type)+" "+section.Name+")")
		}
	}
	return err
}
