package install

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Removed is the result of Remove. The directory and the state of the plugin still exist.
type Removed struct {
	Config string `json:"config"`
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	From   string `json:"from,omitempty"`  // reference of a plugin that was fetched, whose Dir is in the store
	State  string `json:"state,omitempty"` // the plugin's state directory, which may not exist; empty if there is no location for it
	Left   int    `json:"left"`            // number of plugins left in the config

	Trust ConfigTrust `json:"trust"`
	// Unrecorded is why the audit log has no record of the change; empty if it has one, or if there is no audit log.
	Unrecorded string `json:"unrecorded,omitempty"`
}

// Remove removes the plugin with that name, or in that directory, from the config. The config may be invalid elsewhere,
// and the directory of the plugin may be missing.
func Remove(o discovery.Options, which string) (Removed, error) {
	source, file, err := findConfigFile(o)
	if err != nil {
		return Removed{}, err
	}
	named := source.File
	if !file.Exists {
		return Removed{}, usage.Errorf("there is no %s: pass the config's path with --config", named)
	}
	c, problems := config.Parse(named, file.Data)
	if c == nil {
		return Removed{}, &usage.Error{Err: problems.Err()}
	}
	_ = expandPaths(o, c) // a path with an unset variable matches nothing
	at, err := findPlugin(o, c, which)
	if err != nil {
		return Removed{}, err
	}
	if err := notIncluded(c, at, "remove "+which); err != nil {
		return Removed{}, err
	}
	content, err := c.RemovePlugin(at)
	if err != nil {
		return Removed{}, usage.Errorf("%s: %w", named, err)
	}
	removed := Removed{Config: named, Name: pluginName(c.Plugins[at]), Dir: c.Plugins[at].Path, From: c.Plugins[at].From, Left: len(c.Plugins) - 1}
	if places, err := discovery.FindPlaces(o); err == nil && places.State != "" {
		removed.State = filepath.Join(places.State, removed.Name)
	}
	removed.Unrecorded, err = recorded(discovery.FindAudit(o), false, func() (_ []audit.Record, err error) {
		record := policyChange("remove", named)
		record.Plugin = removed.Name
		removed.Trust, err = file.update(content, trustStore(o))
		return []audit.Record{record}, err
	})
	return removed, err
}

// notIncluded returns an error if the table of a plugin is in a file that the config includes, which command does not edit.
func notIncluded(c *config.Config, at int, command string) error {
	p := c.Plugins[at]
	if !p.Included {
		return nil
	}
	return usage.Errorf("plugin %q is in %s:%d, which %s includes: edit that file with `bulkhead %s --config %s`",
		pluginName(p), p.File, p.Line, c.File, command, p.File)
}

// pluginName returns the name in the manifest of a plugin, or else the name of its directory.
func pluginName(p config.Plugin) string {
	if p.Path == "" {
		return "" // a variable in the path is not set
	}
	m, _ := manifest.Load(p.Path)
	return nameOrBase(m, p)
}

func nameOrBase(m *manifest.Manifest, p config.Plugin) string {
	if m != nil && m.Name != "" {
		return m.Name
	}
	return filepath.Base(p.Path)
}

// findPlugin returns the index of the plugin with the name which, or else of the plugin in the directory which.
func findPlugin(o discovery.Options, c *config.Config, which string) (int, error) {
	dir, err := discovery.Absolute(o, which)
	if err != nil {
		return 0, err
	}
	var names []string
	byName, byDir := []int{}, -1
	for i, p := range c.Plugins {
		name := pluginName(p)
		if names = append(names, name); name == which {
			byName = append(byName, i)
		}
		if p.Path != "" && discovery.SameDirectory(p.Path, dir) {
			byDir = i
		}
	}
	switch {
	case len(byName) == 1:
		return byName[0], nil
	case byDir >= 0:
		return byDir, nil
	case len(byName) > 1:
		return 0, usage.Errorf("%d plugins in %s are named %q: name the directory of one of them instead", len(byName), c.File, which)
	case len(names) == 0:
		return 0, usage.Errorf("%s names no plugin", c.File)
	}
	return 0, usage.Errorf("there is no plugin %q in %s: %s", which, c.File, usage.DidYouMean(which, names, "the plugins are "+strings.Join(names, ", ")))
}
