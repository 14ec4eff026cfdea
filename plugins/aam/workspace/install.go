package workspace

import (
	"cmp"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
)

// Package is a package to install.
type Package struct {
	Name     string
	Version  string
	Registry string // name of the registry
	Archive  string // path of its archive
	Checksum string // according to the registry; recorded in the lock file
	Verify   bool   // compare the checksum with the archive
}

// Options control the installation.
type Options struct {
	Platform        string // target of the deployment; none if it is "" or not supported
	DefaultPlatform string // where the aam program deployed the packages that it installed
	Limits          archive.Limits
}

// Install installs and deploys packages in one transaction, replacing other versions of them. Artifacts that only the
// replaced version deployed are removed. It returns the manifests of the packages.
func (w *Workspace) Install(group []Package, o Options) ([]*manifest.Manifest, error) {
	s, err := w.read()
	if err != nil {
		return nil, err
	}
	i := &installing{w, s, o, make([]incoming, 0, len(group))}
	err = w.change(s, func(c *journal.Change) error {
		for _, p := range group {
			if err := i.stage(c, p); err != nil {
				return fmt.Errorf("%s@%s: %w", p.Name, p.Version, err)
			}
		}
		return i.deploy(c)
	})
	if err != nil {
		return nil, err
	}
	manifests := make([]*manifest.Manifest, len(i.incoming))
	for n, in := range i.incoming {
		manifests[n] = in.manifest
	}
	return manifests, nil
}

// installing is the state of an installation.
type installing struct {
	*Workspace
	state    *state
	options  Options
	incoming []incoming
}

// incoming is an unpacked package in the staging directory.
type incoming struct {
	name     string
	dir      string // staging directory
	manifest *manifest.Manifest
	before   []deployment // deployments of the installed version
	version  string
	was      string // the installed version; "" if found is none
}

// stage validates and unpacks an archive. It updates the lock, so that packages of one group cannot use the same
// directory.
func (i *installing) stage(c *journal.Change, p Package) error {
	if err := ownFolder(i.state.lock, p.Name); err != nil {
		return err
	}
	in := incoming{name: p.Name, version: p.Version, before: i.deployedOf(i.state, p.Name, i.options.DefaultPlatform)}
	if entry, found := i.state.lock.Find(p.Name); found {
		in.was = entry.Version
	}
	want := ""
	if p.Verify {
		if want = p.Checksum; want == "" {
			return fault.New(fault.ChecksumMismatch, "the registry has no checksum, and security.require_checksum wants one")
		}
	}
	listing, err := archive.Check(i.Files, p.Archive, want, i.options.Limits)
	if err != nil {
		return err
	}
	in.manifest = listing.Manifest
	if err := matches(in.manifest, p); err != nil {
		return err
	}
	if err := listing.CheckArtifacts(); err != nil {
		return err
	}
	err = c.Tree(i.PackageDir(p.Name), func(staged string) error {
		in.dir = staged
		return archive.Extract(i.Files, p.Archive, staged, listing, i.options.Limits)
	})
	if err != nil {
		return err
	}
	i.incoming = append(i.incoming, in)
	i.state.manifests[p.Name] = in.manifest
	i.state.lock.Set(lockfile.Entry{
		Name: p.Name, Version: p.Version, Source: p.Registry, Checksum: p.Checksum, Dependencies: in.manifest.Dependencies,
	})
	return nil
}

// matches checks that a manifest belongs to the requested package.
func matches(m *manifest.Manifest, p Package) error {
	if m.Name != p.Name {
		return fault.New(fault.ArchiveInvalid, "the archive holds the package %s", m.Name)
	}
	asked, err := version.Parse(p.Version)
	if err != nil {
		return err
	}
	has, err := version.Parse(m.Version)
	if err != nil {
		return err
	}
	if version.Compare(asked, has) != 0 {
		return fault.New(fault.ArchiveInvalid, "the archive holds version %s", m.Version)
	}
	return nil
}

// deploy stages deployments and undeployments.
func (i *installing) deploy(c *journal.Change) error {
	plan := i.plan()
	for _, in := range i.incoming {
		var stale []deployment
		for _, d := range in.before {
			if !declares(in.manifest, d.typ, d.name) {
				stale = append(stale, d)
			}
		}
		if err := i.undeploy(i.state, plan, in.name, stale); err != nil {
			return err
		}
	}
	for _, in := range i.incoming {
		if deploy.Supported(i.options.Platform) {
			for _, a := range in.manifest.Artifacts {
				if err := plan.Deploy(i.options.Platform, in.dir, a); err != nil {
					return fmt.Errorf("%s: %w", in.name, err)
				}
			}
		}
		i.state.ledger.set(in.name, in.deployed(i.options.Platform))
	}
	return plan.Stage(c)
}

// deployed returns the deployments of a package after its deployment to a platform: all artifacts found, and the
// unchanged deployments on other platforms.
func (in incoming) deployed(platform string) []deployment {
	all := []deployment{}
	for _, d := range in.before {
		if d.platform != platform && declares(in.manifest, d.typ, d.name) {
			if d.version = cmp.Or(d.version, in.was); d.version == in.version {
				d.version = ""
			}
			all = append(all, d)
		}
	}
	if deploy.Supported(platform) {
		for _, a := range in.manifest.Artifacts {
			all = append(all, deployment{platform: platform, typ: a.Type, name: a.Name})
		}
	}
	return all
}
