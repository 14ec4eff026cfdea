// Package manager does what the tools promise: it has a method for each, which puts the other packages together and
// returns what a client is told. All that a call depends on is in the Manager: nothing is read from the process.
package manager

import (
	"crypto/sha256"
	"encoding/hex"
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
)

// Manager works for one call.
type Manager struct {
	Files   files.System
	Project string // the project's folder, absolute
	Home    string // the user's home folder, absolute; "" if it is not known
	Now     time.Time
	Limits  archive.Limits
	// Lock waits until no other call holds the name, and then until no other of any user's holds the folder, and
	// holds both until the call ends.
	Lock func(name, folder string) error
	// Probe tells whether a server answers at a URL; false where there is no network.
	Probe func(url string) bool
	// Warn is told what went wrong without failing a call; safe to be shown.
	Warn func(text string)
}

func (m *Manager) workspace() *workspace.Workspace {
	return &workspace.Workspace{Files: m.Files, Project: m.Project, Home: m.Home, Now: m.Now}
}

func (m *Manager) config() (config.Config, config.Layers, error) {
	return config.Load(m.Files, m.Home, m.Project)
}

// local returns the client of a registry. The error has the code RegistryUnreachable.
func (m *Manager) local(r config.Registry) (registry.Registry, error) {
	root, ok := r.Root()
	if !ok {
		return registry.Registry{}, fault.New(fault.RegistryUnreachable, "registry '%s': there is no client for its type %s and URL", r.Name, r.Type).
			WithHint("Only folders can be used: file:///path/to/registry")
	}
	if real, err := files.Inside(m.Files, string(filepath.Separator), root); err == nil {
		root = real // so that a registry has one lock, by whatever way it is reached
	}
	client := registry.Registry{Files: m.Files, Name: r.Name, Root: root}
	if err := client.Check(); err != nil {
		if r.Shown() != r.URL { // else the error would show the path, which has what is not to be shown
			err = fault.New(fault.RegistryUnreachable, "registry '%s': %s cannot be reached", r.Name, r.Shown())
		}
		return registry.Registry{}, fault.From(err).WithHint("The folder has to exist, and to be granted to the plugin")
	}
	return client, nil
}

// usable returns the registries that can be used, in the order of the configuration. Of the others it warns, and of
// one that has the name of an earlier one: what is installed is known by the name.
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

// lock keeps other calls waiting that change the same things: those named what of the folder of. All of them that
// others can change too are in shared, a folder in that one or that one itself. Whoever takes several locks does so
// in the order home, codex, project.
func (m *Manager) lock(what, of, shared string) error {
	sum := sha256.Sum256([]byte(filepath.Clean(of)))
	if err := m.Lock(what+"-"+hex.EncodeToString(sum[:16]), shared); err != nil {
		return fmt.Errorf("lock %s: %w", shared, err)
	}
	return nil
}

// counts are numbers of artifacts by the plurals of their types, in the order of types.
func counts(m *manifest.Manifest) yaml11.Map {
	by := yaml11.Map{}
	if m == nil {
		return by
	}
	for _, t := range m.Types() {
		by = append(by, yaml11.Pair{Key: t.Plural(), Value: len(m.Of(t))})
	}
	return by
}

// orNull is the text, or nil for an empty one.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
