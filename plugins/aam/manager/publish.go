package manager

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/validate"
)

// Published describes a version that Publish has published.
type Published struct {
	PackageName string `json:"package_name"`
	Version     string `json:"version"`
	Registry    string `json:"registry"`
	ArchiveSize int64  `json:"archive_size"` // size of the archive, in bytes
	Checksum    string `json:"checksum"`
}

// Publish packs the project's package and publishes the package to the registry called *name, or to the default
// registry if name is nil.
func (m *Manager) Publish(name *string, tag string) (*Published, error) {
	man, err := m.publishable()
	if err != nil {
		return nil, err
	}
	c, _, err := m.config()
	if err != nil {
		return nil, err
	}
	target, err := pick(c, name)
	if err != nil {
		return nil, err
	}
	client, err := m.local(target)
	if err != nil {
		return nil, err
	}
	if err := m.Lock(client.LockName(), client.Root); err != nil {
		return nil, fmt.Errorf("cannot lock registry '%s': %w", client.Name, err)
	}
	done, err := client.Publish(registry.Publication{Dir: m.Project, Manifest: man, Tag: tag, Now: registry.Timestamp(m.Now), Limits: m.Limits})
	if err != nil {
		return nil, err
	}
	return &Published{man.Name, man.Version, client.Name, done.Size, done.Checksum}, nil
}

// publishable validates the project's package and returns the manifest of the package.
func (m *Manager) publishable() (*manifest.Manifest, error) {
	report, err := validate.Package(m.Files, m.Project)
	if err != nil {
		return nil, err
	}
	if report.Manifest == nil {
		_, err := manifest.Load(m.Files, m.Project) // Load returns the error of the invalid manifest, with its code
		return nil, err
	}
	if !report.Valid {
		return nil, fault.New(fault.ManifestInvalid, "%s", strings.Join(report.Errors, "; "))
	}
	return report.Manifest, nil
}

// pick returns the registry called *name, or the default registry if name is nil.
func pick(c config.Config, name *string) (config.Registry, error) {
	if name == nil {
		if r, ok := c.DefaultRegistry(); ok {
			return r, nil
		}
		return config.Registry{}, notConfigured()
	}
	if r, ok := c.Registry(*name); ok {
		return r, nil
	}
	return config.Registry{}, fault.New(fault.RegistryNotFound, "registry %.100q is not configured", *name).WithHint("List the configured registries with aam_registry_list")
}

func notConfigured() *fault.Error {
	return fault.New(fault.RegistryNotConfigured, "no registries are configured").WithHint("Add one with aam_registry_add")
}
