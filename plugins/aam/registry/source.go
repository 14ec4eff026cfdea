package registry

import (
	"errors"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/resolve"
)

// Source is a registry as packages are resolved from it.
type Source struct {
	Registry Registry
	Limits   archive.Limits // for archives whose manifest has to be asked
}

var _ resolve.Source = Source{}

// Name returns the registry's name.
func (s Source) Name() string { return s.Registry.Name }

// Releases returns a package's versions; none if the registry lacks it.
func (s Source) Releases(name string) ([]resolve.Release, error) {
	m, err := s.Registry.Metadata(name)
	if missing := new(fault.Error); errors.As(err, &missing) && missing.Code == fault.PackageNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	releases := make([]resolve.Release, len(m.Versions))
	for i, release := range m.Versions {
		releases[i] = resolve.Release{Version: release.Version, Checksum: release.Checksum}
	}
	return releases, nil
}

// Dependencies returns what a version needs: what the registry says, or the manifest in the archive where it
// says nothing.
func (s Source) Dependencies(name, version string) ([]manifest.Dependency, error) {
	m, err := s.Registry.Metadata(name)
	if err != nil {
		return nil, err
	}
	if release, ok := m.Release(version); ok && release.Dependencies != nil {
		return release.Dependencies, nil
	}
	packed, err := s.Registry.Manifest(name, version, s.Limits)
	if err != nil {
		return nil, err
	}
	return packed.Dependencies, nil
}
