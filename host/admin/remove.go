package admin

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// Removed is a plugin that was taken out of a config. Its folder and its state are where they were.
type Removed struct {
	Config string `json:"config"`
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	State  string `json:"state,omitempty"` // its state folder, there or not; empty: there is no place for one
	Left   int    `json:"left"`            // plugins that the config still names

	Trust ConfigTrust `json:"trust"`
}

// Remove takes out the plugin with that name, or in that folder. The config may have faults elsewhere, and the
// plugin's folder may be gone.
func Remove(o host.Options, which string) (Removed, error) {
	named, err := host.ConfigFile(o)
	if err != nil {
		return Removed{}, err
	}
	file, err := readConfigFile(named)
	if err != nil {
		return Removed{}, err
	}
	if !file.exists {
		return Removed{}, usage("there is no %s: pass the config's path with --config", named)
	}
	c, problems := config.Parse(named, file.data)
	if c == nil {
		return Removed{}, &host.UsageError{Err: problems.Err()}
	}
	_ = expandPaths(o, c) // what is not known is not the one that is meant
	at, err := find(o, c, which)
	if err != nil {
		return Removed{}, err
	}
	content, err := config.RemovePlugin(file.data, at)
	if err != nil {
		return Removed{}, usage("%s: %w", named, err)
	}
	gone := Removed{Config: named, Name: nameOf(c.Plugins[at]), Dir: c.Plugins[at].Path, Left: len(c.Plugins) - 1}
	if places, err := host.FindPlaces(o); err == nil && places.State != "" {
		gone.State = filepath.Join(places.State, gone.Name)
	}
	gone.Trust, err = file.edit(content, storeOf(o))
	return gone, err
}

// nameOf is what a plugin is called; the folder's name stands in where no manifest says.
func nameOf(p config.Plugin) string {
	if p.Path == "" {
		return "" // its variables have no values here
	}
	m, _ := manifest.Load(p.Path)
	return nameIn(m, p)
}

func nameIn(m *manifest.Manifest, p config.Plugin) string {
	if m != nil && m.Name != "" {
		return m.Name
	}
	return filepath.Base(p.Path)
}

// find is the index of the plugin that is meant: by its name, else by its folder.
func find(o host.Options, c *config.Config, which string) (int, error) {
	dir, err := absolute(o, which)
	if err != nil {
		return 0, err
	}
	var names []string
	byName, byDir := []int{}, -1
	for i, p := range c.Plugins {
		name := nameOf(p)
		if names = append(names, name); name == which {
			byName = append(byName, i)
		}
		if p.Path != "" && sameFolder(p.Path, dir) {
			byDir = i
		}
	}
	switch {
	case len(byName) == 1:
		return byName[0], nil
	case byDir >= 0:
		return byDir, nil
	case len(byName) > 1:
		return 0, usage("%d plugins in %s are called %q: name the folder of the one that is meant", len(byName), c.File, which)
	case len(names) == 0:
		return 0, usage("%s names no plugin", c.File)
	}
	return 0, usage("there is no plugin %q in %s: there are %s", which, c.File, strings.Join(names, ", "))
}
