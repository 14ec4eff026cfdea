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

// Package is one to install.
type Package struct {
	Name     string
	Version  string
	Registry string // its name
	Archive  string // the path of its archive
	Checksum string // that the registry says; it goes into the lock file
	Verify   bool   // whether the archive has to have that checksum
}

// Options say how to install.
type Options struct {
	Platform        string // to deploy to; nothing is deployed where it is "" or not supported
	DefaultPlatform string // where another program of the system has deployed what it has installed
	Limits          archive.Limits
}

// Install installs packages together, in place of other versions of them, and deploys them: all of them or, with an
// error, none. What an older version has deployed and the new one lacks is taken away. It returns their manifests.
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

// installing is an install under way.
type installing struct {
	*Workspace
	state    *state
	options  Options
	incoming []incoming
}

// incoming is a package that is unpacked and waits to be put in place.
type incoming struct {
	name     string
	dir      string // where it waits
	manifest *manifest.Manifest
	before   []deployment // what was deployed of the version that is there
	version  string
	was      string // the version that is there; "" for none
}

// stage checks an archive and unpacks it. It changes the lock, so that packages of one group cannot meet in one folder.
func (i *installing) stage(c *journal.Change, p Package) error {
	if err := ownFolder(i.state.lock, p.Name); err != nil {
		return err
	}
	in := incoming{name: p.Name, version: p.Version, before: i.deployedOf(i.state, p.Name, i.options.DefaultPlatform)}
	if entry, there := i.state.lock.Find(p.Name); there {
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

// matches checks that a manifest is that of the package that was asked for.
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

// deploy adds to a change what is to be deployed, and what no longer is to be.
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

// deployed returns what is deployed of a package once it has come to a platform: there all of it, and elsewhere what
// was before and still is.
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
