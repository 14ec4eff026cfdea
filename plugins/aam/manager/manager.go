// Package manager implements each tool as a method of Manager. It combines the other packages of the plugin, and
// returns the results that clients receive. A call depends only on the fields of Manager, not on the state of the
// process.
package manager

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// Manager serves one call of a tool.
type Manager struct {
	Files   files.System
	Project string // the absolute path of the project
	Home    string // the absolute path of the home directory; "" if unknown
	Now     time.Time
	Limits  archive.Limits
	// Lock takes two locks and holds both until the call ends. The first is the lock called name, which the calls of
	// this plugin share. The second is the lock on the directory folder, which all processes share.
	Lock func(name, folder string) error
	// Probe reports whether a server responds at a URL. It returns false if the plugin has no network access.
	Probe func(url string) bool
	// Warn logs a problem that does not make the call fail. The text of the message contains no secrets.
	Warn func(text string)
}

func (m *Manager) workspace() *workspace.Workspace {
	return &workspace.Workspace{Files: m.Files, Project: m.Project, Home: m.Home, Now: m.Now}
}

func (m *Manager) config() (config.Config, config.Layers, error) {
	return config.Load(m.Files, m.Home, m.Project)
}

// local returns the Registry for a local registry of the configuration. The error has the code RegistryUnreachable.
func (m *Manager) local(r config.Registry) (registry.Registry, error) {
	root, ok := r.Root()
	if !ok {
		return registry.Registry{}, fault.New(fault.RegistryUnreachable, "registry '%s': its type %s or its URL is not supported", r.Name, r.Type).
			WithHint("Only registries in local directories are supported: file:///path/to/registry")
	}
	if real, err := files.Inside(m.Files, string(filepath.Separator), root); err == nil {
		root = real // all paths of one registry must lead to the same lock
	}
	client := registry.Registry{Files: m.Files, Name: r.Name, Root: root}
	if err := client.Check(); err != nil {
		if r.Shown() != r.URL { // the registry's URL contains a secret, so the path in err contains it, too
			err = fault.New(fault.RegistryUnreachable, "registry '%s': %s cannot be reached", r.Name, r.Shown())
		}
		return registry.Registry{}, fault.From(err).WithHint("The directory must exist and be granted to the plugin")
	}
	return client, nil
}

// usable returns the registries that can be read, in the order of the configuration. It warns about other registries,
// and about a registry with the name of an earlier one. It ignores such a registry, because installed packages refer to
// registries by name.
func (m *Manager) usable(c config.Config) []registry.Registry {
	var clients []registry.Registry
	taken := map[string]bool{}
	for _, r := range c.Registries {
		if taken[r.Name] {
			m.Warn("registry '" + r.Name + "' is configured twice; the first is used")
			continue
		}
		taken[r.Name] = true
		client, err := m.local(r)
		if err != nil {
			m.Warn(err.Error())
			continue
		}
		clients = append(clients, client)
	}
	return clients
}

// lock makes concurrent calls that change the same resource wait for each other. The kind in the argument "what" and the
// directory in the argument "of" identify the resource. Other processes that change the same files lock the directory
// shared. The lock order is home, codex, project.
func (m *Manager) lock(what, of, shared string) error {
	if err := m.Lock(what+"-"+digest.Hex([]byte(filepath.Clean(of)))[:32], shared); err != nil {
		return fmt.Errorf("cannot lock %s: %w", shared, err)
	}
	return nil
}

// byType returns the number of artifacts of each type, in the order of Types. The keys are the plurals of the types. It
// omits types without artifacts.
func byType(counts manifest.Counts) yaml11.Map {
	by := yaml11.Map{}
	for i, t := range manifest.Types() {
		if counts[i] > 0 {
			by = append(by, yaml11.Pair{Key: t.Plural(), Value: counts[i]})
		}
	}
	return by
}

// orNull returns a pointer to text; nil if text is empty.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
