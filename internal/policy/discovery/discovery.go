// Package discovery finds what a host serves: the config or the directory of plugins, which the user must have named or
// trusted, the organisation's ceiling, the manifests, and the directories that variables in paths stand for. Find returns all of it; the other
// functions answer single questions of the admin commands.
//
// It decides no grant, opens no module and creates nothing.
package discovery

import (
	"cmp"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// Found is the result of Find.
type Found struct {
	Options     Options        // the options, with defaults for unset fields
	Config      string         // the config's file; empty if there is none
	Files       []config.File  // the config's file, and those that it includes
	Server      *config.Server // nil if the config has no [server]
	Defaults    config.Defaults
	Audit       *config.Audit      // nil if no audit log is kept
	HTTP        *config.HTTPServer // nil if the config has no [http]
	Clients     config.Clients     // the [[clients]] tables
	Credentials []*config.Credential
	Sources     config.Sources    // those of the config
	SkillDirs   []config.SkillDir // those of the config that contain skills of the project
	SkillsState string            // differs if files of the project's skills may have changed; set by the host
	Revocations []RevocationList  // those that the ceiling and the config name
	Candidates  []Candidate       // plugins in the order of the config, or without a config by name
	Ceiling     *config.Ceiling   // nil if there is none; it narrows the grant of each plugin
	Places      config.Places     // what the variables in paths stand for
	Project     string            // name of the project of Places; empty: the server's own
	Area        string            // see Project.Area; empty for the server's own project
	Projects    []Project         // further projects; clients reach them over HTTP only
	HostFiles   []string          // the host's own files and directories, which plugins must not access
	CacheDir    string            // cache of compiled modules; empty if there is no location for it
	// Untrusted is set if nothing is served because the user does not trust the config or the directory of plugins that
	// was found. Config, Server, Defaults, Audit, HTTP, Credentials and Candidates are empty then.
	Untrusted *UntrustedError
	// Invalid is set if nothing is served because the config is invalid. Only FindOrExplain sets it.
	Invalid *InvalidError
	// NoPlugins is set if nothing is served because there are no plugins. Only FindOrExplain and FindForReload set it.
	NoPlugins *NoPluginsError

	source  Source
	folders []string // directories of all plugins, chosen or not

	declaredAudit *config.Audit // [audit] without what the ceiling changes; nil: it changes nothing
}

// Find finds the config and the plugins, and reads their manifests.
func Find(o Options) (*Found, error) { return findAll(o, readConfig) }

// FindAs is like Find, but uses content in place of the content of the config file. The content need not be trusted.
func FindAs(o Options, content []byte) (*Found, error) {
	return findAll(o, func(_ Options, source Source) (*config.Config, tomlfile.Problems, *UntrustedError, error) {
		c, problems := config.Parse(source.File, content)
		return c, problems, nil, nil
	})
}

// FindWith is like FindAs for content that was parsed, without errors. It expands references in c.
func FindWith(o Options, c *config.Config) (*Found, error) {
	return findAll(o, func(Options, Source) (*config.Config, tomlfile.Problems, *UntrustedError, error) {
		return c, c.Warnings, nil, nil
	})
}

// configReader reads the config. It returns a nil config if there is none, or if it is not trusted.
type configReader func(Options, Source) (*config.Config, tomlfile.Problems, *UntrustedError, error)

// findAll implements Find, FindAs and FindWith.
func findAll(o Options, read configReader) (*Found, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	ceiling, err := FindCeiling(o.System)
	if err != nil {
		return nil, err
	}
	places, err := findPlaces(o)
	if err != nil {
		return nil, err
	}
	source, err := findConfig(o, places)
	if err != nil {
		return nil, err
	}
	found, err := find(o, places, source, read)
	if err != nil {
		return nil, err
	}
	found.source = source
	found.Options, found.Places, found.CacheDir, found.Ceiling = o, places, cacheDir(o.System), ceiling
	if err := found.addScript(); err != nil {
		return nil, err
	}
	if err := found.applyCeiling(); err != nil {
		return nil, err
	}
	found.Revocations = readRevocationLists(o.System, ceiling, found.Sources)
	found.reportRevocations(time.Now())
	found.admit()
	found.HostFiles = hostFiles(found)
	return found, nil
}

// find finds the config, or else the plugins.
func find(o Options, places config.Places, source Source, read configReader) (*Found, error) {
	c, untrusted, err := loadConfig(o, source, read)
	if err != nil || untrusted != nil {
		return &Found{Untrusted: untrusted}, err
	}
	found := &Found{Options: o}
	if c != nil {
		found.Config, found.Server, found.Defaults, found.Audit = c.File, c.Server, c.Defaults, c.Audit
		found.Files, found.Credentials, found.HTTP, found.Clients = c.Files, c.Credentials, c.HTTP, c.Clients
		found.Sources, found.SkillDirs = c.Sources, c.Skills
		byName := slices.ContainsFunc(c.Plugins, func(p config.Plugin) bool { return p.Name != "" })
		if o.PluginsDir != "" && !byName && found.ToolMode() != config.ToolsCode { // which needs the runner of scripts
			o.Log.Warn("the directory of plugins is not used: the config lists the plugins; --no-config leaves it out", "dir", o.PluginsDir, "config", c.File)
		}
		if len(c.Plugins) == 0 && !(o.System.mayBeEmpty && c.Sources.IsSet()) {
			return nil, &usage.Error{Err: &InvalidError{File: c.File, Included: includedFiles(c), empty: true, sourcesOnly: c.Sources.IsSet(), Problems: tomlfile.Problems{{File: c.File, Key: "plugins",
				What: "the config names no plugin", Remedy: "add [[plugins]] with `bulkhead add NAME`, for a plugin that `bulkhead search` lists, or `bulkhead add DIR`"}}}}
		}
	}
	switch {
	case o.Development != nil:
		found.Candidates, err = o.Development.candidates(c)
	case c != nil:
		found.Candidates = refuseHost(readManifests(o, c.Plugins))
		found.Projects, err = findProjects(c, places)
	default:
		found.Candidates, untrusted, err = searchFolders(o)
	}
	if err != nil || untrusted != nil {
		return &Found{Untrusted: untrusted}, err
	}
	for _, p := range found.Candidates {
		found.folders = append(found.folders, p.Entry.Path)
	}
	return found, found.choose(o.Plugins)
}

// Drain returns the time for which calls in flight may continue during a shutdown.
func (f *Found) Drain() time.Duration {
	if f.Server == nil {
		return config.DefaultDrain
	}
	return cmp.Or(f.Server.Drain, config.DefaultDrain)
}

// ToolMode returns which tools clients list: one of config.ToolModes.
func (f *Found) ToolMode() string {
	if f.Server == nil {
		return cmp.Or(f.Options.Tools, config.ToolsAll)
	}
	return cmp.Or(f.Options.Tools, f.Server.Tools, config.ToolsAll)
}

// Memory returns the limit for the workers of all plugins together, in bytes.
func (f *Found) Memory() int64 {
	if f.Server == nil {
		return config.DefaultMemory
	}
	return cmp.Or(f.Server.Memory, config.DefaultMemory)
}
