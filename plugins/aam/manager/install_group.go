package manager

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/resolve"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

// install installs the packages of one spec in one transaction.
func (i *installation) install(group resolve.Group) error {
	if s := i.config.Security; s.RequireSignature && s.OnSignatureFailure == "error" {
		return fault.New(signatureMissing, "security.require_signature requires a signature, but packages in local registries have none").
			WithHint("Set security.on_signature_failure to warn, or security.require_signature to false")
	}
	lock, err := i.ws.Lock()
	if err != nil {
		return err
	}
	var missing []workspace.Package
	for _, p := range group.Packages {
		entry, found := lock.Find(p.Name)
		switch {
		case i.done[p.Name]:
			continue
		case found && (p.Kept || entry.Version == p.Version && !i.request.Force):
			if i.isElsewhere(p.Name) {
				missing = append(missing, workspace.Package{Name: p.Name, Version: entry.Version})
			}
			continue
		}
		incoming, err := i.incoming(p)
		if err != nil {
			return err
		}
		missing = append(missing, incoming)
	}
	return i.commit(group.Spec.Name, missing)
}

// commit installs or deploys the packages in missing, for the requested package called name. It adds the requested
// package and the missing packages to the result.
func (i *installation) commit(name string, missing []workspace.Package) error {
	manifests := []*manifest.Manifest{}
	if len(missing) > 0 {
		done, err := i.ws.Install(missing, i.options())
		if err != nil {
			return err
		}
		manifests = done.Manifests
		i.result.Backups = append(i.result.Backups, i.backups(done.Backups)...)
	}
	for _, p := range missing {
		i.done[p.Name] = true
	}
	if err := i.report(name, manifests); err != nil {
		return err
	}
	for _, p := range missing {
		if err := i.report(p.Name, manifests); err != nil {
			return err
		}
	}
	return nil
}

// isElsewhere reports whether an installed package has to be deployed to the platform of the call. This is the case if
// the package is not deployed there, and either the call names the platform or the package is deployed to another
// platform.
func (i *installation) isElsewhere(name string) bool {
	platform, deployed := i.options().Platform, i.platforms[name]
	return platform != "" && !slices.Contains(deployed, platform) && (i.request.Platform != nil || len(deployed) > 0)
}

// deploy deploys an installed package and its installed dependencies to the platform of the call.
func (i *installation) deploy(name string) error {
	lock, err := i.ws.Lock()
	if err != nil {
		return err
	}
	var missing []workspace.Package
	seen := map[string]bool{}
	var add func(entry lockfile.Entry)
	add = func(entry lockfile.Entry) {
		if seen[entry.Name] {
			return
		}
		seen[entry.Name] = true
		for _, d := range entry.Dependencies {
			if its, found := lock.Find(d.Name); found {
				add(its)
			}
		}
		if !i.done[entry.Name] && i.isElsewhere(entry.Name) {
			missing = append(missing, workspace.Package{Name: entry.Name, Version: entry.Version})
		}
	}
	entry, found := lock.Find(name)
	if !found {
		return fmt.Errorf("%s is no longer in the lock file: another program has changed it", name)
	}
	add(entry)
	if err := i.commit(name, missing); err != nil {
		return err
	}
	for name := range seen {
		i.resolved[name] = true
	}
	return nil
}

// checkPlatform returns an error if the call would deploy to an unknown platform.
func checkPlatform(r Request, c config.Config) error {
	known := strings.Join(deploy.Platforms(), ", ")
	switch {
	case r.Platform != nil && !deploy.Supported(*r.Platform):
		return fault.New(fault.InvalidArgument, "unknown platform %.60q", *r.Platform).WithHint("The platforms are: " + known)
	case r.Platform == nil && !r.NoDeploy && len(r.Packages) > 0 && !deploy.Supported(c.DefaultPlatform):
		return fault.New(fault.InvalidArgument, "the configured default_platform %.60q is unknown", c.DefaultPlatform).
			WithHint("Set it with aam_config_set, or name a platform: " + known)
	}
	return nil
}

func (i *installation) options() workspace.Options {
	o := workspace.Options{Platform: i.config.DefaultPlatform, DefaultPlatform: i.config.DefaultPlatform, Limits: i.Limits, Force: i.request.Force}
	if i.request.Platform != nil {
		o.Platform = *i.request.Platform
	}
	if i.request.NoDeploy {
		o.Platform = ""
	}
	return o
}

// incoming converts a resolved package to the type of package that the workspace installs.
func (i *installation) incoming(p resolve.Package) (workspace.Package, error) {
	at := slices.IndexFunc(i.clients, func(r registry.Registry) bool { return r.Name == p.Registry })
	path, err := i.clients[at].Archive(p.Name, p.Version)
	if err != nil {
		return workspace.Package{}, err
	}
	return workspace.Package{
		Name: p.Name, Version: p.Version, Registry: p.Registry, Archive: path,
		Checksum: p.Checksum, Verify: i.config.Security.RequireChecksum,
	}, nil
}

// report adds an installed package to the result, unless the result has the package already. It takes the manifest of
// the package from manifests or, if manifests lacks it, from the workspace.
func (i *installation) report(name string, manifests []*manifest.Manifest) error {
	if slices.ContainsFunc(i.result.Installed, func(p Package) bool { return p.Name == name }) {
		return nil
	}
	lock, err := i.ws.Lock()
	if err != nil {
		return err
	}
	entry, found := lock.Find(name)
	if !found {
		return fmt.Errorf("%s is not in the lock file that was just written", name)
	}
	at := slices.IndexFunc(manifests, func(m *manifest.Manifest) bool { return m.Name == name })
	var m *manifest.Manifest
	if at >= 0 {
		m = manifests[at]
	} else if m, err = i.ws.Manifest(name); err != nil {
		return err
	}
	i.result.Installed = append(i.result.Installed, newPackage(entry, m.Counts()))
	return nil
}
