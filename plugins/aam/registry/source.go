package registry

import (
	"errors"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// Source implements resolve.Source with a Registry.
type Source struct {
	Registry Registry
	Limits   archive.Limits // the limits for reading the manifest in an archive
}

// Name returns the name of the registry.
func (s Source) Name() string { return s.Registry.Name }

// Releases returns the versions of a package; none if the registry does not have the package.
func (s Source) Releases(name string) ([]Release, error) {
	m, err := s.Registry.Metadata(name)
	if missing := new(fault.Error); errors.As(err, &missing) && missing.Code == fault.PackageNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m.Versions, nil
}

// Dependencies returns the dependencies of a version. It reads them from the metadata or, if the metadata lacks them,
// from the manifest in the archive.
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
