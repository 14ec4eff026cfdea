// Package host is Bulkhead as a library: it finds plugins, decides what each is granted, and offers their
// tools as one MCP server. Open reads manifests and takes the decisions; Host.Serve speaks MCP over a pair
// of streams, and Host.Call makes one call the same way; Close releases the rest.
//
// A program that opens a Host must call RunChild first in main, and first in TestMain of its tests: modules are
// compiled and run in processes of their own, which are this same program. Open fails without it. Build the
// program with CGO_ENABLED=0, else those processes cannot be confined in every way.
//
// Opening loads no module: a plugin's module is compiled when it is first called, or in the background
// while serving. One plugin that is broken does not keep the others from being offered; Host.Plugins says
// what is wrong with it.
//
// # Stability
//
// Before version 1.0 a minor version may change this API; CHANGELOG.md then says what to do, and api/host.txt lists the
// exported names. Types of other packages in the fields of View belong to the host's internals and may change without
// notice.
package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
)

// Options say what to open. The zero value does what `bulkhead serve` does without flags.
type Options struct {
	ConfigFile string // bulkhead.toml; empty: one in the working directory or project that the user trusts
	NoConfig   bool   // none is looked for; contradicts ConfigFile
	PluginsDir string // holds a folder for each plugin, or is one; not used where a config is
	// ServeNothing opens a host without plugins where Open would return an *UntrustedError: a client gets a
	// server that says what to do.
	ServeNothing bool
	Plugins      []string          // names of the plugins to open; empty: all that are found
	Project      string            // what ${project} stands for; empty: see docs/config.md
	AllowWrite   bool              // the word that plugins with write = "opt-in" wait for
	AllTools     bool              // offers a plugin that is served alone with the tools that it hides then, too
	Env          map[string]string // granted to the plugins that ask for a variable of that name

	Version string       // of the host, for clients; empty: "0.0.0"
	Log     hclog.Logger // nil: no log

	// System is where the process stands; its zero value is the process's own surroundings.
	System System

	content []byte // of the config's file; nil: it is read
}

// System is what the host takes from its surroundings.
type System struct {
	Dir        string                           // working directory
	Executable string                           // path of the program that is running
	LookupEnv  func(name string) (string, bool) // environment
}

// complete fills in what is not set.
func (s System) complete() (System, error) {
	if s.LookupEnv == nil {
		s.LookupEnv = os.LookupEnv
	}
	if s.Executable == "" {
		s.Executable, _ = os.Executable() // without it one place to look for plugins is missing
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

// getenv is the value of a variable, "" where it is not set.
func (s System) getenv(name string) string {
	value, _ := s.LookupEnv(name)
	return value
}

// absolute makes a path of the user's absolute.
func (s System) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.Dir, path)
}

// UsageError is a fault of whoever opened the host: an option that cannot be, a config with faults, no
// plugin where one was named.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Host is a set of plugins and what each is granted. It is safe for concurrent use.
type Host struct {
	plugins []*plugin // in the order of the config, else of their names
	tools   map[string]offer
	offered offered // beside tools
	places  config.Places
	alone   bool
	drain   time.Duration // of Serve
	log     hclog.Logger
	// untrusted says why there is no plugin; nil if there are some.
	untrusted *UntrustedError

	audit   *audit.Log // nil: none is kept
	store   *code.Store
	pool    *worker.Pool
	gateway *gateway.Gateway
	zone    func() []byte   // the local time zone, read once
	gitUser func() git.User // likewise
	secret  func(*config.Credential) (string, error)
	own     []string // the host's files and folders

	workerCommand       []string
	confinementRequired bool
	warnConfinement     sync.Once

	background sync.WaitGroup
	stop       context.CancelFunc // of what runs in the background
	stopped    context.Context
}

// offer is a granted tool and who has it.
type offer struct {
	plugin *plugin
	tool   *tool
}

// Open finds plugins and decides what each is granted. The error is a *UsageError where the caller can
// put it right.
func Open(o Options) (*Host, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	system := o.System
	places, err := findPlaces(o)
	if err != nil {
		return nil, err
	}
	found, err := discover(o, places)
	if err != nil {
		return nil, err
	}
	if found.untrusted != nil {
		if !o.ServeNothing {
			return nil, &UsageError{found.untrusted}
		}
		o.Log.Error(found.untrusted.Error())
	}
	if places.NoState != "" {
		o.Log.Error("no plugin gets a state folder", "reason", places.NoState)
	}
	h := &Host{
		places: places,
		log:    o.Log,
		alone:  found.alone(),
		drain:  found.drain(),

		untrusted: found.untrusted,
		zone:      sync.OnceValue(func() []byte { return sandbox.LocalZone(system.LookupEnv("TZ")) }),
	}
	h.gitUser = sync.OnceValue(func() git.User {
		user, err := git.ReadUser(places.Home, system.getenv("XDG_CONFIG_HOME"))
		if err != nil {
			o.Log.Warn("git's configuration of the user", "error", err)
		}
		return user
	})
	h.secret = system.secret
	h.own = ownPaths(system, places, found)
	h.stopped, h.stop = context.WithCancel(context.Background())
	if err := h.decide(found, o); err != nil {
		return nil, err
	}
	h.warnOfEnv(o.Env)
	if h.workerCommand = reexec.Command(reexec.Worker); h.workerCommand == nil {
		return nil, errors.New("host.RunChild must be called first in main: modules run in processes of their own")
	}
	if h.confinementRequired = found.server != nil && found.server.Confined; h.confinementRequired {
		if err := h.confined(confine.Probe()); err != nil {
			return nil, &UsageError{fmt.Errorf("%s: %w", found.config, err)}
		}
	}
	h.pool = worker.NewPool(memoryBudget(found.server))
	if h.store, err = openStore(o); err != nil {
		return nil, err
	}
	if h.audit, err = openAudit(found.audit, o.Log); err != nil {
		return nil, err
	}
	return h, nil
}

// complete fills in what is not set.
func (o Options) complete() (Options, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Version == "" {
		o.Version = "0.0.0"
	}
	var err error
	o.System, err = o.System.complete()
	return o, err
}

// decide says what each plugin is granted, and makes the server of them all. The error tells what keeps them
// from being served together. It opens nothing.
func (h *Host) decide(found found, o Options) error {
	flags := config.Flags{AllowWrite: o.AllowWrite, Env: o.Env, Alone: h.alone && !o.AllTools}
	for _, f := range found.plugins {
		h.plugins = append(h.plugins, h.newPlugin(f, found.defaults, flags))
	}
	if err := errors.Join(h.offerTools(), h.offerElse()); err != nil {
		return err
	}
	var err error
	if h.gateway, err = gateway.New(h.gatewayConfig(found, o), backend{h}); err != nil && h.speaksForItself() {
		err = usage("%s: server: %w", h.plugins[0].manifest.File, err)
	}
	return err
}

// warnOfEnv says which granted variables no plugin asks for.
func (h *Host) warnOfEnv(env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		asks := func(p *plugin) bool { _, granted := p.grant.Env[name]; return granted }
		if !slices.ContainsFunc(h.plugins, asks) {
			h.log.Warn("no plugin asks for the variable", "name", name)
		}
	}
}

// offerTools indexes the granted tools by name.
func (h *Host) offerTools() error {
	h.tools = map[string]offer{}
	var errs []error
	for _, p := range h.plugins {
		for _, t := range p.tools {
			if other, taken := h.tools[t.offered]; taken {
				errs = append(errs, usage("plugins %q (%s) and %q (%s) both offer the tool %s: take one of them out, give one a prefix, or deny the tool to one with deny_tools in %s",
					other.plugin.name, other.plugin.dir, p.name, p.dir, t.offered, config.FileName))
				continue
			}
			h.tools[t.offered] = offer{p, t}
		}
	}
	return errors.Join(errs...)
}

// speaksForItself tells whether the server has the identity that its one plugin's manifest gives it. One
// that cannot be used may have none.
func (h *Host) speaksForItself() bool { return h.alone && h.plugins[0].problems.Err() == nil }

// gatewayConfig is what the server says of itself: a plugin that is served alone speaks for itself.
func (h *Host) gatewayConfig(found found, o Options) gateway.Config {
	c := gateway.Config{Name: "bulkhead", Version: o.Version, Offers: h.gatewayOffers(), Checked: true, Log: o.Log.Named("gateway")}
	if found.server != nil && found.server.Name != "" {
		c.Name = found.server.Name
	}
	if found.untrusted != nil {
		c.Instructions = "This server offers nothing yet. " + found.untrusted.Error() + "; then start the server again. Only the user can decide that."
	}
	if h.speaksForItself() {
		m := h.plugins[0].manifest
		c.Name, c.Version = m.Server.Name, m.Server.Version
		c.Instructions, c.ProtocolVersions = m.Server.Instructions, m.Server.ProtocolVersions
	}
	for _, p := range h.plugins {
		if p.problem != "" {
			continue
		}
		c.Logging = c.Logging || p.manifest.Offers.Logging
		for _, t := range p.tools {
			c.Tools = append(c.Tools, t.listing())
		}
	}
	return c
}
