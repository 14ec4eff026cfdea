package discovery

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// Options select what to open. The zero value is what `bulkhead serve` uses without flags.
type Options struct {
	ConfigFile string // bulkhead.toml; if empty, the first of those that docs/config.md lists
	NoConfig   bool   // uses no config; contradicts ConfigFile
	PluginsDir string // contains the directory of each plugin, or is the directory of a plugin; ignored if there is a config
	// ServeNothing opens a host without plugins where host.Open would return an *UntrustedError, or an error because
	// there are no plugins: clients get a server that says what to do.
	ServeNothing bool
	// AuditOutput receives audit records if the config's [audit] sends them to stdout. If it is nil, Serve and ServeHTTP refuse such a
	// config, and calls by Call are recorded only elsewhere.
	AuditOutput io.Writer
	// Requested is the tool, prompt or resource that is about to be requested. host.Open then logs what is wrong with the plugins whose
	// manifest names it, and only counts what is wrong with others. If it is empty, everything is logged.
	Requested string

	Plugins     []string          // names of the plugins to open; if empty, all
	Project     string            // value of ${project}; if empty, see docs/config.md
	AllowWrite  bool              // enables the writing tools of plugins with write = "opt-in"
	AllTools    bool              // a plugin that is served alone also offers the tools that it hides in that case
	Tools       string            // which tools clients list, as tools in [server]; if empty, what the config says
	Env         map[string]string // values of variables, which are granted to the plugins that request them
	Development *Development      // serves only this plugin, while it is built again and again; nil: none
	Panics      bool              // failures tell clients the text of the module's panic, in _meta; a Development tells it in the text, too
	Private     []string          // further files that no plugin may access, such as one that contains a secret; absolute

	Version string       // version of the host that clients see; if empty, "0.0.0"
	Log     hclog.Logger // if nil, nothing is logged

	// System is the environment of the process; its zero value is the real one.
	System System
}

// WithManifests returns o with a cache of manifests, so that several calls for the same command parse each manifest once.
func WithManifests(o Options, c *manifest.Cache) Options {
	o.System.manifests = c
	return o
}

// WithStaged returns o with a further store, in which plugins are looked for first: that of plugins that are yet to be added.
func WithStaged(o Options, staged store.Store) Options {
	o.System.staged = &staged
	return o
}

// WithoutPlugins returns o, with which a config that has [sources] and no plugin yet is accepted, for those who review it.
func WithoutPlugins(o Options) Options {
	o.System.mayBeEmpty = true
	return o
}

// WithoutAdmission returns o without the check whether plugins may be served at all, to compare what was granted to a plugin that may not be any
// more. Nothing may be served with it.
func WithoutAdmission(o Options) Options {
	o.System.admitsAll = true
	return o
}

// System contains what the host reads from its environment.
type System struct {
	Dir        string                           // working directory
	Executable string                           // path of the running program
	LookupEnv  func(name string) (string, bool) // environment variables

	ceiling   *ceilingPlace   // nil means CeilingFile
	manifests *manifest.Cache // nil: each manifest is parsed again
	staged    *store.Store    // nil: there is only the store of the user
	// mayBeEmpty is set if the config may have [sources] and no plugins.
	mayBeEmpty bool
	admitsAll  bool // whether plugins are not checked by an Admission
}

// complete sets defaults for unset fields.
func (o Options) complete() (Options, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Version == "" {
		o.Version = "0.0.0"
	}
	if o.Tools != "" && !slices.Contains(config.ToolModes, o.Tools) {
		return o, usage.Errorf("--tools: %q is not one of %s", o.Tools, strings.Join(config.ToolModes, ", "))
	}
	var err error
	o.System, err = o.System.complete()
	return o, err
}

// complete sets defaults for unset fields, and resolves the working directory.
func (s System) complete() (System, error) {
	s.LookupEnv = LookupEnv(s)
	if s.Executable == "" {
		s.Executable, _ = os.Executable() // an error only means that plugins beside the executable are not found
	}
	// macOS returns the path by which the program was started, which may be a symbolic link in a directory of programs. The
	// plugins are beside the program itself.
	if resolved, err := filepath.EvalSymlinks(s.Executable); err == nil {
		s.Executable = resolved
	}
	if s.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return s, fmt.Errorf("working directory: %w", err)
		}
		s.Dir = dir
	}
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return s, fmt.Errorf("working directory: %w", err)
	}
	s.Dir = dir
	return s, nil
}

// LookupEnv returns s.LookupEnv, or the default function if that is nil.
func LookupEnv(s System) func(name string) (string, bool) {
	if s.LookupEnv == nil {
		return lookupEnv
	}
	return s.LookupEnv
}

// getenv returns the value of a variable, "" if it is not set.
func (s System) getenv(name string) string {
	value, _ := s.LookupEnv(name)
	return value
}

// Absolute returns the absolute path of a path given by the user. A relative path is one of the working directory with symbolic
// links resolved.
func Absolute(o Options, path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	s, err := o.System.complete()
	return s.absolute(path), err
}

// absolute returns the absolute path of a path given by the user.
func (s System) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.Dir, path)
}
