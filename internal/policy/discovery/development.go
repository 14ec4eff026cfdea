package discovery

import (
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Development is a plugin that is built again and again while it is served. The host serves only this plugin, and announces all
// changes of what it offers. If there is a config, its table that names the plugin decides what the plugin is granted; the path and
// sha256 of the table are ignored.
type Development struct {
	Source string // directory of the source, for messages
	// Built returns the directory of the last build that succeeded. If there is none, dir is empty and the error says why.
	// Built may be called concurrently.
	Built func() (dir string, err error)
}

// candidates returns the plugin. c is the config, or nil.
func (d *Development) candidates(c *config.Config) ([]Candidate, error) {
	built, err := d.Built()
	if built == "" {
		return nil, &usage.Error{Err: &NoPluginsError{
			problem: fmt.Sprintf("the plugin in %s is not built: %v", d.Source, err), remedy: "correct its source: it is built after each change",
		}}
	}
	m, problems := manifest.Load(built)
	entry := config.Plugin{Path: built, Source: d.Source}
	if c != nil && m != nil {
		if entry, err = d.entry(c, m.Name); err != nil {
			return nil, err
		}
		entry.Path, entry.SHA256 = built, ""
	}
	if m != nil {
		m.File = filepath.Join(d.Source, manifest.FileName)
	}
	for i := range problems {
		problems[i].File = filepath.Join(d.Source, manifest.FileName)
	}
	return []Candidate{{Entry: entry, Manifest: m, Problems: problems}}, nil
}

// entry returns the table of the config that names the plugin: by its name, by the directory of its source, or by a path whose last
// element is its name, such as that of a build.
func (d *Development) entry(c *config.Config, name string) (config.Plugin, error) {
	for _, p := range c.Plugins {
		if p.Name == name || p.Path != "" && (filepath.Base(p.Path) == name || SameDirectory(p.Path, d.Source)) {
			return p, nil
		}
	}
	return config.Plugin{}, &usage.Error{Err: &InvalidError{File: c.File, Included: includedFiles(c), Problems: tomlfile.Problems{{File: c.File, Key: "plugins",
		What:   fmt.Sprintf("no table names the plugin %s", tomlfile.Quote(name)),
		Remedy: fmt.Sprintf("add [[plugins]] with path = %s, and what the plugin is granted", tomlfile.Quote(filepath.Join("dist", "plugins", name)))}}}}
}
