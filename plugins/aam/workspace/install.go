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
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Package is a package to install.
type Package struct {
	Name     string
	Version  string
	Registry string // the name of the registry from which the package comes
	Archive  string // the path of the package's archive; "" to deploy the installed version
	Checksum string // the checksum that the registry states, which the lock file records
	Verify   bool   // verify that the archive has this checksum
}

// Options control how Install installs packages.
type Options struct {
	Platform        string // the platform to which packages are deployed; with "" or an unsupported platform, they are not deployed
	DefaultPlatform string // the platform to which the aam program deploys
	Force           bool   // move content that no package has deployed to the backup, and replace the content
	Limits          archive.Limits
}

// Done is the result of Install.
type Done struct {
	Manifests []*manifest.Manifest // the manifests of the installed packages
	Backups   []deploy.Backup      // the replaced content that no package had deployed
}

// Install installs and deploys packages in one transaction, and replaces other versions of these packages. It removes
// deployed artifacts that only the replaced version has. If a deployment would replace content that no package has
// deployed, and Force is not set, the error has the code FileExists.
func (w *Workspace) Install(group []Package, o Options) (*Done, error) {
	s, err := w.read(o.DefaultPlatform)
	if err != nil {
		return nil, err
	}
	i := &installing{planning: planning{Workspace: w, state: s, plan: w.plan(), force: o.Force}, options: o}
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
	done := &Done{Backups: append(i.folders, i.plan.Backups()...)}
	for _, in := range i.incoming {
		done.Manifests = append(done.Manifests, in.manifest)
	}
	return done, nil
}

// installing is the state of one call of Install.
type installing struct {
	planning
	options Options
	folders []deploy.Backup // directories of packages that were not in the lock file; they were moved to the backup
}

// incoming is a package to install, which is unpacked in the staging directory, or an installed package to deploy.
type incoming struct {
	name     string
	dir      string // the directory of the unpacked or installed package
	manifest *manifest.Manifest
	before   []deployment // the deployments of the installed version
	version  string
	checksum string
	was      string // the installed version; "" if the package is not installed
}

// stage validates and unpacks the archive of a package. It immediately adds the package to the lock, so that a later
// package of the same group cannot use the same directory.
func (i *installing) stage(c *journal.Change, p Package) error {
	if err := ownFolder(i.state.lock, p.Name); err != nil {
		return err
	}
	before, err := i.deployedOf(i.state, p.Name)
	if err != nil {
		return err
	}
	in := incoming{name: p.Name, version: p.Version, checksum: p.Checksum, before: before}
	entry, found := i.state.lock.Find(p.Name)
	if in.was = entry.Version; p.Archive == "" {
		return i.present(in, entry)
	}
	if !found {
		if err := i.keepFolder(c, p.Name); err != nil {
			return err
		}
	}
	want := ""
	if p.Verify {
		if want = p.Checksum; want == "" {
			return fault.New(fault.ChecksumMismatch, "the registry has no checksum, but security.require_checksum requires one")
		}
	}
	listing, err := archive.CheckAndKeep(i.Files, p.Archive, want, i.options.Limits)
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
	i.state.lock.Set(lockfile.Entry{
		Name: p.Name, Version: p.Version, Source: p.Registry, Checksum: p.Checksum, Dependencies: in.manifest.Dependencies,
	})
	return nil
}

// present adds a package that is already installed and only has to be deployed.
func (i *installing) present(in incoming, entry lockfile.Entry) error {
	m, err := i.Manifest(in.name)
	if err != nil {
		return fmt.Errorf("the installed package cannot be deployed: %w", err)
	}
	in.manifest, in.dir, in.version, in.checksum = m, i.PackageDir(in.name), entry.Version, entry.Checksum
	i.incoming = append(i.incoming, in)
	return nil
}

// keepFolder moves the directory of a package to the backup, if the directory exists. The package is not in the lock
// file.
func (i *installing) keepFolder(c *journal.Change, name string) error {
	dir := i.PackageDir(name)
	exists, err := filesystem.Exists(i.Files, dir)
	if err != nil || !exists {
		return err
	}
	to, err := c.Keep(dir)
	i.folders = append(i.folders, deploy.Backup{Path: dir, Backup: to})
	return err
}

// matches returns an error unless the manifest m has the name and version of the requested package.
func matches(m *manifest.Manifest, p Package) error {
	if m.Name != p.Name {
		return fault.New(fault.ArchiveInvalid, "the archive %s contains the package %s, not %s", p.Archive, m.Name, p.Name)
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
		return fault.New(fault.ArchiveInvalid, "the archive %s contains version %s, not %s", p.Archive, m.Version, p.Version)
	}
	return nil
}

// deploy plans and stages the deployments and undeployments of the transaction.
func (i *installing) deploy(c *journal.Change) error {
	for _, in := range i.incoming {
		for _, d := range in.before {
			if _, stays := artifact(in.manifest, d.typ, d.name); stays {
				continue
			}
			if err := i.withdraw(in.name, d); err != nil {
				return err
			}
		}
	}
	entries := make([]ledgerEntry, len(i.incoming))
	for n, in := range i.incoming {
		entries[n] = ledgerEntry{name: in.name, version: in.version, checksum: in.checksum, deployed: in.elsewhere(i.options.Platform)}
		if !deploy.Supported(i.options.Platform) {
			continue
		}
		for _, a := range in.manifest.Artifacts {
			d := deployment{platform: i.options.Platform, typ: a.Type, name: a.Name}
			if err := i.put(&d, in.dir, a); err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
			entries[n].deployed = append(entries[n].deployed, d)
		}
	}
	if err := i.check(); err != nil {
		return err
	}
	for _, entry := range entries {
		i.state.ledger.set(entry)
	}
	i.record()
	return i.plan.Stage(c)
}

// elsewhere returns the deployments of the package that do not change when the package is deployed to the given
// platform.
func (in incoming) elsewhere(platform string) []deployment {
	all := []deployment{}
	for _, d := range in.before {
		if _, stays := artifact(in.manifest, d.typ, d.name); d.platform == platform || !stays {
			continue
		}
		if d.version = cmp.Or(d.version, in.was); d.version == in.version {
			d.version = ""
		}
		all = append(all, d)
	}
	return all
}
