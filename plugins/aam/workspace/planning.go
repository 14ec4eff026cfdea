package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// planning plans the deployments and undeployments of a transaction.
type planning struct {
	*Workspace
	state    *state
	plan     *deploy.Plan
	incoming []incoming
	// force makes the plan move content that no package has deployed to the backup. Without force, such content is a
	// conflict.
	force     bool
	conflicts []string // the paths of content that no package has deployed
	taken     []taking
}

// taking is a deployment that passes to the package called name, because the package to which the deployment belonged
// is removed.
type taking struct {
	name string
	deployment
}

// provider is a package that has a certain artifact.
type provider struct {
	name     string
	dir      string
	artifact manifest.Artifact
}

// put plans the deployment d of an artifact of the package in dir, and sets the digest of d.
func (p *planning) put(d *deployment, dir string, a manifest.Artifact) error {
	digests, err := p.plan.Digests(d.platform, dir, a)
	if err != nil {
		return err
	}
	d.digest = digests[0]
	if err := p.claim(d.artifact()); err != nil {
		return err
	}
	return p.plan.Deploy(d.platform, dir, a)
}

// withdraw plans the removal of a deployment of the package called name. If another installed package has the same
// artifact, withdraw plans to deploy the artifact of that package instead.
func (p *planning) withdraw(name string, d deployment) error {
	current, err := p.plan.Current(d.artifact())
	if err != nil {
		return err
	}
	other, shared := p.provider(name, d)
	if current == "" || !shared {
		if err := p.claim(d.artifact()); err != nil {
			return err
		}
		return p.plan.Undeploy(d.platform, d.typ, d.name)
	}
	theirs := deployment{platform: d.platform, typ: d.typ, name: d.name}
	digests, err := p.plan.Digests(d.platform, other.dir, other.artifact)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", other.name, err)
	case slices.Contains(digests, current):
		theirs.digest = current
	default:
		if err := p.put(&theirs, other.dir, other.artifact); err != nil {
			return fmt.Errorf("%s: %w", other.name, err)
		}
	}
	p.taken = append(p.taken, taking{other.name, theirs})
	return nil
}

// provider returns a package other than name that has the artifact of the deployment d after the transaction. Of
// several packages it returns the last one that is deployed to the platform of d. If none is deployed there, it returns
// the last package.
func (p *planning) provider(name string, d deployment) (provider, bool) {
	var best provider
	found, deployed := false, false
	for _, entry := range slices.Backward(p.state.lock.Packages) {
		if entry.Name == name || deployed {
			continue
		}
		m, dir := p.manifest(p.state, entry.Name), p.PackageDir(entry.Name)
		if at := slices.IndexFunc(p.incoming, func(in incoming) bool { return in.name == entry.Name }); at >= 0 {
			m, dir = p.incoming[at].manifest, p.incoming[at].dir
		}
		if m == nil {
			continue
		}
		a, has := artifact(m, d.typ, d.name)
		if !has {
			continue
		}
		deployed = p.isDeployed(entry.Name, d.platform)
		if deployed || !found {
			best, found = provider{entry.Name, dir, a}, true
		}
	}
	return best, found
}

// isDeployed reports whether the package called name has deployments on a platform.
func (p *planning) isDeployed(name, platform string) bool {
	if recorded := p.state.ledger.of(name); recorded != nil {
		return slices.ContainsFunc(recorded.deployed, func(d deployment) bool { return d.platform == platform })
	}
	return platform == p.state.otherwise
}

// claim prepares the path of an artifact for a change. If no package has deployed the current content at that path,
// claim plans to move the content to the backup. Without force, claim records a conflict instead.
func (p *planning) claim(at deploy.Artifact) error {
	current, err := p.plan.Current(at)
	if err != nil || current == "" || p.owns(p.state, p.plan, at, current) {
		return err
	}
	if p.force {
		return p.plan.Keep(at)
	}
	path, err := p.plan.At(at)
	if path = p.shown(path); err == nil && !slices.Contains(p.conflicts, path) {
		p.conflicts = append(p.conflicts, path)
	}
	return err
}

// shown returns a path below the project as a path relative to the project, and any other path unchanged.
func (w *Workspace) shown(path string) string {
	if contain.Within(w.Project, path) {
		if relative, err := filepath.Rel(w.Project, path); err == nil {
			return filepath.ToSlash(relative)
		}
	}
	return path
}

// Shown returns the backup b with paths inside of the project relative to the project.
func (w *Workspace) Shown(b deploy.Backup) deploy.Backup {
	return deploy.Backup{Path: w.shown(b.Path), Backup: w.shown(b.Backup)}
}

// check returns an error if there are conflicts.
func (p *planning) check() error {
	if len(p.conflicts) == 0 {
		return nil
	}
	err := fault.New(fault.FileExists, "files that no package has deployed, or that were edited since: %s", strings.Join(p.conflicts, ", ")).
		WithHint("Nothing was changed. Use force to replace the files: their content is then moved to .aam/backup")
	err.Details = map[string]any{"paths": p.conflicts}
	return err
}

// record adds the deployments in p.taken to the ledger.
func (p *planning) record() {
	for _, t := range p.taken {
		entry := ledgerEntry{name: t.name}
		if recorded := p.state.ledger.of(t.name); recorded != nil {
			entry = *recorded
		} else if locked, found := p.state.lock.Find(t.name); found {
			entry.version, entry.checksum = locked.Version, locked.Checksum
			entry.deployed = p.fromLock(p.state, t.name)
		}
		if at := slices.IndexFunc(entry.deployed, t.isAt); at >= 0 {
			entry.deployed[at] = t.deployment
		} else {
			entry.deployed = append(entry.deployed, t.deployment)
		}
		p.state.ledger.set(entry)
	}
}
