package discovery

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Installed returns the built plugins that a config can name: those in the directory of --plugins, else of
// $BULKHEAD_PLUGINS, else in plugins/ beside the executable. dir is that directory. ./dist/plugins is not searched, since it
// can be part of a project from an untrusted author.
func Installed(o Options) (plugins []Candidate, dir string, err error) {
	if o, err = o.complete(); err != nil {
		return nil, "", err
	}
	dir = installDir(o)
	dirs, err := pluginFolders(dir)
	if err == nil {
		plugins = slices.DeleteFunc(readManifests(o, entries(dirs)), func(c Candidate) bool { return !c.isBuilt() || c.isHost() })
	}
	if named, _ := namedFolder(o); named == "" {
		if err := checkInstalled(o.System, plugins); err != nil {
			return nil, dir, &usage.Error{Err: err}
		}
	}
	if len(plugins) == 0 {
		return nil, dir, noneIn(dir)
	}
	return plugins, dir, nil
}

// installDir returns the directory of installed plugins.
func installDir(o Options) string {
	if named := cmp.Or(o.PluginsDir, o.System.getenv(envPlugins)); named != "" {
		return o.System.absolute(named)
	}
	return filepath.Join(filepath.Dir(o.System.Executable), "plugins")
}

// ResolveNames sets the paths of the plugins that the config names by name, or that were fetched.
func ResolveNames(o Options, c *config.Config) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	dir := installDir(o)
	for i := range c.Plugins {
		p := &c.Plugins[i]
		switch {
		case p.From != "":
			p.Path = storedAt(o.System, p.SHA256)
		case p.Name == "":
		case hasManifest(dir): // the directory is itself a plugin; checkName compares its name
			p.Path = dir
		default:
			p.Path = filepath.Join(dir, p.Name)
		}
	}
	return nil
}

// storedAt returns the directory of the plugin whose manifest has the digest, in the store that contains it.
func storedAt(s System, digest string) string {
	if s.staged != nil {
		if dir := s.staged.Path(digest); hasManifest(dir) {
			return dir
		}
	}
	return storeIn(s).Path(digest)
}

// notStored returns the problem of a plugin that is not in the store.
func notStored(entry config.Plugin) tomlfile.Problems {
	return tomlfile.Problems{{File: entry.File, Line: entry.Lines["from"], Key: entry.Key + ".from",
		What: "the plugin is not on this machine: " + entry.Path + " contains no " + manifest.FileName, Remedy: "fetch it with `bulkhead update --pinned`"}}
}

// checkName returns a problem if the manifest of a plugin that the config names by name has a different name.
func checkName(entry config.Plugin, m *manifest.Manifest) tomlfile.Problems {
	if entry.Name == "" || m.Name == entry.Name {
		return nil
	}
	return tomlfile.Problems{{File: entry.File, Line: entry.Lines["name"], Key: entry.Key + ".name",
		What: fmt.Sprintf("%s is plugin %q", m.Dir, m.Name), Remedy: "correct the name"}}
}

// notInstalled returns the problem of a plugin that the config names by name and that does not exist.
func notInstalled(entry config.Plugin) tomlfile.Problems {
	return tomlfile.Problems{{File: entry.File, Line: entry.Lines["name"], Key: entry.Key + ".name",
		What:   fmt.Sprintf("the plugin is not installed: %s contains no %s", entry.Path, manifest.FileName),
		Remedy: fmt.Sprintf("install it there, or name the directory of your plugins with --plugins DIR or $%s", envPlugins)}}
}
