package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// envPlugins is the variable that names the directory of plugins if no option does.
const envPlugins = "BULKHEAD_PLUGINS"

// Candidate is a plugin that was found.
type Candidate struct {
	Entry    config.Plugin
	Manifest *manifest.Manifest // nil if it cannot be read at all
	Problems tomlfile.Problems  // problems of the manifest
	Refused  bool               // whether an Admission refuses it, which is one of the problems
}

// Name returns the name in the manifest, else the reference by which the plugin was fetched, else the name of the directory.
func (c Candidate) Name() string {
	switch {
	case c.isNameless() && c.Entry.From != "":
		return c.Entry.From
	case c.isNameless():
		return filepath.Base(c.Entry.Path)
	}
	return c.Manifest.Name
}

// isNameless reports whether the manifest does not name the plugin, which may therefore be any plugin.
func (c Candidate) isNameless() bool { return c.Manifest == nil || c.Manifest.Name == "" }

// isBuilt reports whether the module that the manifest names exists.
func (c Candidate) isBuilt() bool {
	if c.Manifest == nil || c.Manifest.Module.File == "" {
		return false
	}
	_, err := os.Stat(c.Manifest.ModuleFile())
	return err == nil
}

// searchFolders finds the plugins of the directory that the caller named. If none is named, it searches the first default directory
// that contains a built plugin, so that a directory of sources does not shadow a directory of modules. The default directory in the
// working directory must be trusted.
func searchFolders(o Options) ([]Candidate, *UntrustedError, error) {
	if named, by := namedFolder(o); named != "" {
		plugins, err := searchFolder(o, o.System.absolute(named), named, by)
		return withoutHost(plugins), nil, err
	}
	var looked []string
	unbuilt := false
	beside, here := usualFolders(o.System)
	for _, dir := range []string{beside, here} {
		dirs, err := pluginFolders(dir)
		plugins := withoutHost(readManifests(o, entries(dirs)))
		if dir == beside && err == nil {
			err = checkInstalled(o.System, plugins)
		}
		switch {
		case err != nil:
			looked = append(looked, err.Error())
		case len(dirs) == 0:
			looked = append(looked, dir+": no plugin is in it")
		case !slices.ContainsFunc(plugins, Candidate.isBuilt):
			looked, unbuilt = append(looked, dir+": no plugin in it is built"), true
		default:
			o.Log.Debug("plugins", "dir", dir)
			if dir != beside {
				return trustedPlugins(o.System, dir, plugins)
			}
			return plugins, nil, nil
		}
	}
	return nil, nil, noneFound(o, looked, unbuilt)
}

// checkInstalled returns an error if a user who cannot replace the program may have put one of the plugins beside it, such as those in
// /tmp/plugins beside /tmp/bulkhead. A fault of a directory that contains the program too does not count.
func checkInstalled(s System, plugins []Candidate) error {
	program := filepath.Dir(s.Executable)
	for _, p := range plugins {
		files := []string{filepath.Join(p.Entry.Path, manifest.FileName)}
		if p.isBuilt() {
			files = append(files, p.Manifest.ModuleFile())
		}
		for _, file := range files {
			err := ownedpath.CheckEntry(file)
			if fault := (*ownedpath.Error)(nil); err != nil && (!errors.As(err, &fault) || !contain.Within(fault.At, program)) {
				return fmt.Errorf("the installed plugin is not used: %s", ownedpath.Explain(err))
			}
		}
	}
	return nil
}

// namedFolder returns the directory of plugins that the caller named, unchanged, and the option or variable that names it. Both are
// empty if none is named.
func namedFolder(o Options) (dir, by string) {
	if o.PluginsDir != "" {
		return o.PluginsDir, "--plugins"
	}
	return o.System.getenv(envPlugins), "$" + envPlugins
}

// usualFolders returns the default directories, which are searched for plugins if none is named: the one beside the program, and
// the one in the working directory.
func usualFolders(s System) (beside, here string) {
	return filepath.Join(filepath.Dir(s.Executable), "plugins"), filepath.Join(s.Dir, "dist", "plugins")
}

// searchFolder finds the plugins of a directory that the caller named.
func searchFolder(o Options, dir, named, by string) ([]Candidate, error) {
	dirs, err := pluginFolders(dir)
	if err != nil {
		return nil, usage.Errorf("%s: %w", by, err)
	}
	if len(dirs) == 0 {
		return nil, &usage.Error{Err: &NoPluginsError{problem: fmt.Sprintf("%s: no plugin is in %s", by, dir),
			remedy: fmt.Sprintf("a plugin is a directory with a %s: build one with `bulkhead plugin build DIR -o %s`", manifest.FileName, named)}}
	}
	return readManifests(o, entries(dirs)), nil
}

// pluginFolders returns the directories in dir that contain a manifest, by name, or dir itself if it contains one. Names
// that begin with a dot are skipped: an unfinished build has such a name.
func pluginFolders(dir string) ([]string, error) {
	if hasManifest(dir) {
		return []string{dir}, nil
	}
	items, err := os.ReadDir(dir)
	if err != nil {
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", dir, cause.Err)
		}
		return nil, &missingError{error: fmt.Errorf("%s: there is no such directory", dir)}
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

// readManifests reads the manifests concurrently.
func readManifests(o Options, entries []config.Plugin) []Candidate {
	list := make([]Candidate, len(entries))
	var wait sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	checkStore := sync.OnceValue(storeIn(o.System).Check)
	for i, entry := range entries {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			m, problems := o.System.manifests.Load(entry.Path)
			switch {
			case m != nil:
				problems = append(problems, checkName(entry, m)...)
			case entry.From != "" && !hasManifest(entry.Path):
				problems = notStored(entry)
			case entry.Name != "" && !hasManifest(entry.Path):
				problems = notInstalled(entry)
			case entry.File != "" && !hasManifest(entry.Path):
				problems = wrongPath(entry)
			}
			if entry.From != "" && m != nil {
				if err := checkStore(); err != nil {
					problems = append(problems, tomlfile.Problem{File: entry.File, Line: entry.Lines["from"], Key: entry.Key + ".from", What: err.Error()})
				}
			}
			list[i] = Candidate{Entry: entry, Manifest: m, Problems: problems}
			if named, _ := namedFolder(o); entry.Name != "" && named == "" && m != nil {
				if err := checkInstalled(o.System, list[i:i+1]); err != nil {
					list[i].Problems = append(list[i].Problems, tomlfile.Problem{File: entry.File, Line: entry.Lines["name"], Key: entry.Key + ".name", What: err.Error()})
				}
			}
		})
	}
	wait.Wait()
	return list
}

// wrongPath returns the problem of a table of the config whose path is not the directory of a plugin.
func wrongPath(entry config.Plugin) tomlfile.Problems {
	p := tomlfile.Problem{File: entry.File, Line: entry.Lines["path"], Key: entry.Key + ".path",
		What:   fmt.Sprintf("%s contains no %s", entry.Path, manifest.FileName),
		Remedy: "write the path of a built plugin; `bulkhead plugin build` builds one from its source",
	}
	if info, err := os.Stat(entry.Path); errors.Is(err, fs.ErrNotExist) {
		p.What = fmt.Sprintf("there is no directory %s", entry.Path)
	} else if err != nil {
		p.What = err.Error()
	} else if !info.IsDir() {
		p.What = fmt.Sprintf("%s is not a directory", entry.Path)
	}
	return tomlfile.Problems{p}
}

// choose removes the plugins without one of these names; none is removed if there are no names.
func (f *Found) choose(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var have []string
	for _, p := range f.Candidates {
		have = append(have, p.Name())
	}
	for _, name := range names {
		if slices.Contains(have, name) {
			continue
		}
		err := fmt.Errorf("there is no plugin %q: %s", name, usage.DidYouMean(name, have, "the plugins are "+strings.Join(have, ", ")))
		if !slices.ContainsFunc(f.Candidates, Candidate.isNameless) {
			err = &missingError{err, name, f.Config, f.Files}
		}
		return &usage.Error{Err: err}
	}
	f.Candidates = slices.DeleteFunc(f.Candidates, func(c Candidate) bool { return !slices.Contains(names, c.Name()) })
	return nil
}
