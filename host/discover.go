package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

// envPlugins names the plugins' folder where no option does.
const envPlugins = "BULKHEAD_PLUGINS"

// candidate is a plugin that was found.
type candidate struct {
	entry    config.Plugin
	manifest *manifest.Manifest // nil: it cannot be read at all
	problems tomlfile.Problems
}

// name is what the plugin is called; the folder's name stands in where the manifest does not say.
func (c candidate) name() string {
	if c.manifest != nil && c.manifest.Name != "" {
		return c.manifest.Name
	}
	return filepath.Base(c.entry.Path)
}

// built tells whether the module is there that the manifest names.
func (c candidate) built() bool {
	if c.manifest == nil || c.manifest.Module.File == "" {
		return false
	}
	_, err := os.Stat(c.manifest.ModuleFile())
	return err == nil
}

// found is all that Open reads.
type found struct {
	config   string         // the config's file; empty: there is none
	server   *config.Server // nil: the config says nothing
	defaults config.Defaults
	audit    *config.Audit // nil: none is kept
	// credentials are those that a plugin may have the host use.
	credentials []*config.Credential
	plugins     []candidate
	folders     []string // of all plugins that were found, chosen or not
	// untrusted says why nothing is served: there is a config, or a directory of plugins, that the user has
	// not agreed to. Nil: there is none. Everything else is empty then.
	untrusted *UntrustedError
}

// discover finds the plugins and reads their manifests.
func discover(o Options, places config.Places) (found, error) {
	c, not, err := loadConfig(o, places)
	if err != nil || not != nil {
		return found{untrusted: not}, err
	}
	var all found
	if c != nil {
		if o.PluginsDir != "" {
			o.Log.Warn("the plugins folder is not used: a config names the plugins", "folder", o.PluginsDir, "config", c.File)
		}
		all.config, all.server, all.defaults, all.audit = c.File, c.Server, c.Defaults, c.Audit
		all.credentials = c.Credentials
		if len(c.Plugins) == 0 {
			return found{}, usage("%s names no plugin: add [[plugins]] with a path", c.File)
		}
		all.plugins = readManifests(c.Plugins)
	} else if all.plugins, not, err = searchFolders(o); err != nil || not != nil {
		return found{untrusted: not}, err
	}
	for _, p := range all.plugins {
		all.folders = append(all.folders, p.entry.Path)
	}
	if all.plugins, err = chosen(all.plugins, o.Plugins); err != nil {
		return found{}, err
	}
	return all, sameName(all.plugins)
}

// alone tells whether one plugin is served, under its own name.
func (f found) alone() bool { return len(f.plugins) == 1 && (f.server == nil || f.server.Name == "") }

// drain is how long calls in flight may go on when the server is told to end.
func (f found) drain() time.Duration {
	if f.server == nil {
		return config.DefaultDrain
	}
	return cmp.Or(f.server.Drain, config.DefaultDrain)
}

// loadConfig reads the config; nil where there is none.
func loadConfig(o Options, places config.Places) (*config.Config, *UntrustedError, error) {
	if o.NoConfig && o.ConfigFile != "" {
		return nil, nil, usage("--config and --no-config contradict each other: keep one of the two")
	}
	c, problems, not := readConfig(o, places)
	if c == nil && problems == nil {
		return nil, not, nil
	}
	if problems.Err() == nil {
		problems = append(problems, config.Expand(c, o.System.LookupEnv)...)
	}
	for _, warning := range problems.Warnings() {
		o.Log.Warn(warning.String())
	}
	if err := problems.Err(); err != nil {
		return nil, nil, &UsageError{err}
	}
	if o.ConfigFile == "" {
		o.Log.Info("a trusted config says what is granted", "file", c.File)
	}
	return c, nil, nil
}

// searchFolders finds the plugins of the first folder that counts. One that the caller named counts
// whatever is in it; of the usual ones the first that holds a built plugin, so that a folder of sources
// does not hide the one of modules. That of the working directory counts only if the user trusts it.
func searchFolders(o Options) ([]candidate, *UntrustedError, error) {
	named, by := o.PluginsDir, "--plugins"
	if named == "" {
		named, by = o.System.getenv(envPlugins), "$"+envPlugins
	}
	if named != "" {
		plugins, err := searchFolder(o.System.absolute(named), named, by)
		return plugins, nil, err
	}
	var looked []string
	beside, here := filepath.Join(filepath.Dir(o.System.Executable), "plugins"), filepath.Join(o.System.Dir, "dist", "plugins")
	for _, dir := range []string{beside, here} {
		dirs, err := pluginFolders(dir)
		plugins := readManifests(entries(dirs))
		switch {
		case err != nil:
			looked = append(looked, err.Error())
		case len(dirs) == 0:
			looked = append(looked, dir+": no plugin is in it")
		case !slices.ContainsFunc(plugins, candidate.built):
			looked = append(looked, dir+": no plugin in it is built")
		default:
			o.Log.Debug("plugins", "folder", dir)
			if dir != beside {
				return trustedPlugins(o.System, dir, plugins)
			}
			return plugins, nil, nil
		}
	}
	return nil, nil, usage("there are no plugins: no %s is in %s, neither --plugins nor $%s is given, and of the usual places\n  %s\nbuild a plugin from its source with `bulkhead plugin build DIR`, or say where yours are with --plugins DIR",
		config.FileName, o.System.Dir, envPlugins, strings.Join(looked, "\n  "))
}

// searchFolder finds the plugins of a folder that the caller named.
func searchFolder(dir, named, by string) ([]candidate, error) {
	dirs, err := pluginFolders(dir)
	if err != nil {
		return nil, usage("%s: %w", by, err)
	}
	if len(dirs) == 0 {
		return nil, usage("%s: no plugin is in %s: a plugin's folder holds a %s; build one with `bulkhead plugin build DIR -o %s`", by, dir, manifest.FileName, named)
	}
	return readManifests(entries(dirs)), nil
}

// pluginFolders are the folders in dir that hold a manifest, by name; dir itself, if it holds one. Names
// that begin with a dot are not looked at: a build that is not finished has one.
func pluginFolders(dir string) ([]string, error) {
	if hasManifest(dir) {
		return []string{dir}, nil
	}
	items, err := os.ReadDir(dir)
	if err != nil {
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", dir, cause.Err)
		}
		return nil, fmt.Errorf("%s: there is no such folder", dir)
	}
	var dirs []string
	for _, item := range items {
		if sub := filepath.Join(dir, item.Name()); !strings.HasPrefix(item.Name(), ".") && hasManifest(sub) {
			dirs = append(dirs, sub)
		}
	}
	return dirs, nil
}

func hasManifest(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifest.FileName))
	return err == nil
}

func entries(dirs []string) []config.Plugin {
	list := make([]config.Plugin, len(dirs))
	for i, dir := range dirs {
		list[i] = config.Plugin{Path: dir}
	}
	return list
}

// readManifests reads the manifests side by side.
func readManifests(entries []config.Plugin) []candidate {
	list := make([]candidate, len(entries))
	var wait sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, entry := range entries {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			m, problems := manifest.Load(entry.Path)
			list[i] = candidate{entry: entry, manifest: m, problems: problems}
		})
	}
	wait.Wait()
	return list
}

// chosen are the plugins with these names, in the order they were found; all of them if none is named.
func chosen(plugins []candidate, names []string) ([]candidate, error) {
	if len(names) == 0 {
		return plugins, nil
	}
	var have []string
	for _, p := range plugins {
		have = append(have, p.name())
	}
	for _, name := range names {
		if !slices.Contains(have, name) {
			return nil, usage("there is no plugin %q: there are %s", name, strings.Join(have, ", "))
		}
	}
	return slices.DeleteFunc(plugins, func(c candidate) bool { return !slices.Contains(names, c.name()) }), nil
}

// sameName refuses two plugins of one name: they would share a state folder, and nobody could tell them
// apart.
func sameName(plugins []candidate) error {
	dirs := map[string]string{}
	var errs []error
	for _, p := range plugins {
		if other, taken := dirs[p.name()]; taken {
			errs = append(errs, usage("two plugins are called %q: %s and %s: take one of them out", p.name(), other, p.entry.Path))
		}
		dirs[p.name()] = p.entry.Path
	}
	return errors.Join(errs...)
}
