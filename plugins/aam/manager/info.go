package manager

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// Detail describes a package, for the tool aam_info.
type Detail struct {
	Name             string     `json:"name"`
	Version          string     `json:"version"`
	Description      string     `json:"description"`
	Author           *string    `json:"author"`
	License          *string    `json:"license"`
	Repository       *string    `json:"repository"`
	Homepage         *string    `json:"homepage"`
	Keywords         []string   `json:"keywords"`
	Artifacts        yaml11.Map `json:"artifacts"`    // lists of artifacts; the key is the plural of their type
	Dependencies     yaml11.Map `json:"dependencies"` // version constraints; the key is the name of the dependency
	Platforms        yaml11.Map `json:"platforms"`
	Installed        bool       `json:"installed"`         // any version of the package is installed
	InstalledVersion *string    `json:"installed_version"` // nil if the package is not installed
	Source           *string    `json:"source"`
	SourceName       *string    `json:"source_name"`
	SourceCommit     *string    `json:"source_commit"`
}

// Info describes the package called name. If wanted is "" or equals the installed version, Info describes the installed
// package. Otherwise it describes the wanted version, or the latest version if wanted is "", of the first registry that
// has this version. If no registry has the version, the error has the code PackageNotFound.
func (m *Manager) Info(name, wanted string) (*Detail, error) {
	if err := pkgname.Check(name); err != nil {
		return nil, err
	}
	ws := m.workspace()
	lock, err := ws.Packages()
	if err != nil {
		return nil, err
	}
	entry, installed := lock.Find(name)
	if installed && (wanted == "" || sameVersion(entry.Version, wanted)) {
		man, err := ws.Manifest(name)
		if err == nil {
			return describe(man, entry, installed, entry), nil
		}
		if fault.From(err).Code != fault.ManifestNotFound {
			return nil, err
		}
	}
	found, man, err := m.published(name, wanted)
	if err != nil {
		return nil, err
	}
	return describe(man, found, installed, entry), nil
}

func sameVersion(a, b string) bool {
	left, err := version.Parse(a)
	right, err2 := version.Parse(b)
	return a == b || err == nil && err2 == nil && version.Compare(left, right) == 0
}

// published finds a package in the registries. It returns the manifest of the package, and a lock file entry that
// describes the package.
func (m *Manager) published(name, wanted string) (lockfile.Entry, *manifest.Manifest, error) {
	c, _, err := m.config()
	if err != nil {
		return lockfile.Entry{}, nil, err
	}
	for _, client := range m.usable(c) {
		release, ok, err := release(client, name, wanted)
		if err != nil {
			m.Warn(err.Error())
			continue
		}
		if !ok {
			continue
		}
		man, err := m.manifestOf(client, name, release, c.Security.RequireChecksum)
		if err != nil {
			return lockfile.Entry{}, nil, err
		}
		return lockfile.Entry{Version: release.Version, Source: client.Name}, man, nil
	}
	what := name
	if wanted != "" {
		what += "@" + wanted
	}
	return lockfile.Entry{}, nil, fault.New(fault.PackageNotFound, "package %.200s is neither installed nor in a usable registry", what).
		WithHint("Find packages with aam_search, and list registries with aam_registry_list")
}

// release returns the wanted version of a package, or the latest version if wanted is "". It returns false if the
// registry does not have that version.
func release(client registry.Registry, name, wanted string) (registry.Release, bool, error) {
	metadata, err := client.Metadata(name)
	if err != nil {
		if fault.From(err).Code == fault.PackageNotFound {
			err = nil
		}
		return registry.Release{}, false, err
	}
	if wanted == "" {
		wanted = metadata.Latest()
	}
	found, ok := metadata.Release(wanted)
	return found, ok, nil
}

// manifestOf returns the manifest in the archive of a version. It returns an error if the manifest has another name or
// version. If verify is set, it also returns an error if the archive has another checksum than the registry states.
func (m *Manager) manifestOf(client registry.Registry, name string, r registry.Release, verify bool) (*manifest.Manifest, error) {
	path, err := client.Archive(name, r.Version)
	if err != nil {
		return nil, err
	}
	want := ""
	if verify {
		want = r.Checksum
	}
	listing, err := archive.Check(m.Files, path, want, m.Limits)
	if err != nil {
		return nil, fmt.Errorf("registry '%s': %s@%s: %w", client.Name, name, r.Version, err)
	}
	if has := listing.Manifest; has.Name != name || !sameVersion(has.Version, r.Version) {
		return nil, fault.New(fault.ArchiveInvalid, "registry '%s': %s@%s: the archive contains %s@%s", client.Name, name, r.Version, has.Name, has.Version)
	}
	return listing.Manifest, nil
}

// describe returns the Detail of a package with the manifest m. If any version of the package is installed, entry is
// the lock file entry of the installed version.
func describe(m *manifest.Manifest, from lockfile.Entry, installed bool, entry lockfile.Entry) *Detail {
	d := &Detail{
		Name: m.Name, Version: from.Version, Description: m.Description,
		Author: m.Author, License: m.License, Repository: m.Repository, Homepage: m.Homepage, Keywords: m.Keywords,
		Artifacts: yaml11.Map{}, Dependencies: yaml11.Map{}, Platforms: yaml11.Map{},
		Installed: installed, Source: orNull(from.Source), SourceName: from.SourceName, SourceCommit: from.SourceCommit,
	}
	if installed {
		d.InstalledVersion = &entry.Version
	}
	for _, t := range m.Types() {
		list := []any{}
		for _, a := range m.Of(t) {
			list = append(list, yaml11.Map{{Key: "name", Value: a.Name}, {Key: "path", Value: a.Path}, {Key: "description", Value: a.Description}})
		}
		d.Artifacts = append(d.Artifacts, yaml11.Pair{Key: t.Plural(), Value: list})
	}
	for _, dep := range m.Dependencies {
		d.Dependencies = append(d.Dependencies, yaml11.Pair{Key: dep.Name, Value: dep.Constraint})
	}
	for _, p := range m.Platforms {
		d.Platforms = append(d.Platforms, yaml11.Pair{Key: p.Name, Value: yaml11.Map{
			{Key: "skill_scope", Value: p.SkillScope}, {Key: "deploy_instructions_as", Value: p.DeployInstructionsAs}, {Key: "merge_instructions", Value: p.MergeInstructions},
		}})
	}
	return d
}
