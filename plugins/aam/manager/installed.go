package manager

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/doctor"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// Package is an installed package.
type Package struct {
	Name          string     `json:"name"`
	Version       string     `json:"version"`
	Source        string     `json:"source"`
	ArtifactCount int        `json:"artifact_count"`
	Artifacts     yaml11.Map `json:"artifacts"` // the number of artifacts of each type; the key is the plural of the type
	Checksum      *string    `json:"checksum"`
}

// Listed is an installed package with the further fields that the tool aam_list shows.
type Listed struct {
	Package
	SourceName   *string `json:"source_name"`
	SourceCommit *string `json:"source_commit"`
}

// newPackage returns the Package for an entry of the lock file. The counts are zero if the manifest of the package
// cannot be read.
func newPackage(entry lockfile.Entry, counts manifest.Counts) Package {
	return Package{
		Name: entry.Name, Version: entry.Version, Source: entry.Source,
		ArtifactCount: counts.Total(), Artifacts: byType(counts), Checksum: orNull(entry.Checksum),
	}
}

// List returns the installed packages in the order of the lock file.
func (m *Manager) List() ([]Listed, error) {
	ws := m.workspace()
	lock, err := ws.Packages()
	if err != nil {
		return nil, err
	}
	installed := ws.Installed(lock)
	listed := []Listed{}
	for _, entry := range lock.Packages {
		counts, err := installed.Counts(entry.Name)
		if err != nil {
			m.Warn("package " + entry.Name + ": " + err.Error())
		}
		listed = append(listed, Listed{newPackage(entry, counts), entry.SourceName, entry.SourceCommit})
	}
	return listed, nil
}

// Doctor runs all diagnostic checks of the project.
func (m *Manager) Doctor() doctor.Report { return doctor.Run(m.workspace()) }
