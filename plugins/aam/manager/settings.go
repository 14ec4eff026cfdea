package manager

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// Setting is the value of one setting, or the whole configuration.
type Setting struct {
	Key    *string `json:"key"` // nil for the whole configuration
	Value  any     `json:"value"`
	Source string  `json:"source"` // one of merged, project, global and default
}

// ConfigGet returns the value of the setting *key, or the whole configuration if key is nil.
func (m *Manager) ConfigGet(key *string) (*Setting, error) {
	c, layers, err := m.config()
	if err != nil {
		return nil, err
	}
	if key == nil {
		return &Setting{nil, c.Plain(), "merged"}, nil
	}
	setting, err := config.Get(c, layers, *key)
	if err != nil {
		return nil, err
	}
	return &Setting{key, setting.Value, setting.Source}, nil
}

// ConfigSet changes the value of a setting in the user's configuration.
func (m *Manager) ConfigSet(key, value string) (*Setting, error) {
	if err := m.lockConfig(); err != nil {
		return nil, err
	}
	if err := config.Set(m.Files, m.Home, key, value); err != nil {
		return nil, err
	}
	return &Setting{&key, value, "global"}, nil
}

// lockConfig takes the lock on the user's configuration.
func (m *Manager) lockConfig() error {
	if m.Home == "" {
		return fault.New(fault.PermissionDenied, "the home directory, which contains the global configuration, is unknown").
			WithHint("Grant the plugin the variable HOME and the directory .aam in the home directory")
	}
	folder := filepath.Dir(config.Path(m.Home))
	// Only an existing directory can be locked. If the directory cannot be created, the later write returns the error.
	_ = atomicfile.MkdirAll(folder, atomicfile.Options{FS: m.Files})
	return m.lock("home", m.Home, folder)
}

// Registry describes a registry of the configuration.
type Registry struct {
	Name       string `json:"name"`
	URL        string `json:"url"`
	Type       string `json:"type"`
	IsDefault  bool   `json:"is_default"` // the configuration marks the registry as default; false if the registry is the default only because no registry is marked
	Accessible bool   `json:"accessible"` // the directory of the registry exists, or the server responds
}

// RegistryList returns the configured registries in the order of the configuration.
func (m *Manager) RegistryList() ([]Registry, error) {
	c, _, err := m.config()
	if err != nil {
		return nil, err
	}
	listed := []Registry{}
	for _, r := range c.Registries {
		listed = append(listed, Registry{r.Name, r.Shown(), r.Type, r.Default, m.accessible(r)})
	}
	return listed, nil
}

func (m *Manager) accessible(r config.Registry) bool {
	if root, ok := r.Root(); ok {
		return files.IsDir(m.Files, root)
	}
	return isHTTP(r.URL) && m.Probe(r.URL)
}

func isHTTP(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// RegistryAdd adds a registry to the user's configuration.
func (m *Manager) RegistryAdd(name, url string, setDefault bool) (*Registry, error) {
	added, err := config.NewRegistry(name, url, m.Project)
	if err != nil {
		return nil, err
	}
	if err := m.lockConfig(); err != nil {
		return nil, err
	}
	if err := m.isNew(name); err != nil {
		return nil, err
	}
	if !m.accessible(added) {
		return nil, fault.New(fault.RegistryUnreachable, "registry '%s' cannot be reached at %s", name, redact.URL(url)).
			WithHint("A directory must exist and be granted to the plugin; a server must be granted to the plugin and respond")
	}
	if err := config.AddRegistry(m.Files, m.Home, added, setDefault); err != nil {
		return nil, err
	}
	if added.Type != config.Local { // the result contains the URL of a local registry as the caller wrote it
		url = redact.URL(url)
	}
	return &Registry{name, url, added.Type, setDefault, true}, nil
}

// isNew returns an error if the effective configuration or the user's file already has a registry with the given name.
// The project's file may shadow the registries in the user's file.
func (m *Manager) isNew(name string) error {
	merged, layers, err := m.config()
	if err != nil {
		return err
	}
	global, err := config.Merge(layers.Global, config.Layer{})
	if err != nil {
		return err
	}
	for _, c := range []config.Config{merged, global} {
		if _, found := c.Registry(name); found {
			return fault.New(fault.InvalidArgument, "registry '%s' is already configured", name)
		}
	}
	return nil
}
