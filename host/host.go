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
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
)

// What Open takes, and what its errors are.
type (
	Options        = discovery.Options
	System         = discovery.System
	UsageError     = discovery.UsageError
	UntrustedError = discovery.UntrustedError
)

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
	found, err := discovery.Find(o)
	if err != nil {
		return nil, err
	}
	o = found.Options
	system, places := o.System, found.Places
	if found.Untrusted != nil {
		if !o.ServeNothing {
			return nil, &UsageError{Err: found.Untrusted}
		}
		o.Log.Error(found.Untrusted.Error())
	}
	if places.NoState != "" {
		o.Log.Error("no plugin gets a state folder", "reason", places.NoState)
	}
	h := &Host{
		places: places,
		log:    o.Log,
		alone:  alone(found),
		drain:  found.Drain(),

		untrusted: found.Untrusted,
		zone:      sync.OnceValue(func() []byte { return sandbox.LocalZone(system.LookupEnv("TZ")) }),
	}
	h.gitUser = sync.OnceValue(func() git.User {
		xdg, _ := system.LookupEnv("XDG_CONFIG_HOME")
		user, err := git.ReadUser(places.Home, xdg)
		if err != nil {
			o.Log.Warn("git's configuration of the user", "error", err)
		}
		return user
	})
	h.secret = func(c *config.Credential) (string, error) { return discovery.Secret(system, c) }
	h.own = found.HostFiles
	h.stopped, h.stop = context.WithCancel(context.Background())
	if err := h.decide(found, o); err != nil {
		return nil, err
	}
	h.warnOfEnv(o.Env)
	if h.workerCommand = reexec.Command(reexec.Worker); h.workerCommand == nil {
		return nil, errors.New("host.RunChild must be called first in main: modules run in processes of their own")
	}
	if h.confinementRequired = found.Server != nil && found.Server.Confined; h.confinementRequired {
		if err := h.confined(confine.Probe()); err != nil {
			return nil, &UsageError{Err: fmt.Errorf("%s: %w", found.Config, err)}
		}
	}
	h.pool = worker.NewPool(found.Memory())
	if h.store, err = openStore(o.Log, found.CacheDir); err != nil {
		return nil, err
	}
	if h.audit, err = openAudit(found.Audit, o.Log); err != nil {
		return nil, err
	}
	return h, nil
}

// alone tells whether one plugin is served, under its own name.
func alone(f *discovery.Found) bool {
	return len(f.Candidates) == 1 && (f.Server == nil || f.Server.Name == "")
}

// decide says what each plugin is granted, and makes the server of them all. The error tells what keeps them
// from being served together. It opens nothing.
func (h *Host) decide(found *discovery.Found, o Options) error {
	flags := config.Flags{AllowWrite: o.AllowWrite, Env: o.Env, Alone: h.alone && !o.AllTools}
	for _, f := range found.Candidates {
		h.plugins = append(h.plugins, h.newPlugin(f, found.Defaults, flags))
	}
	if err := errors.Join(h.offerTools(), h.offerElse()); err != nil {
		return err
	}
	var err error
	if h.gateway, err = gateway.New(h.gatewayConfig(found, o), backend{h}); err != nil && h.speaksForItself() {
		err = discovery.UsageErrorf("%s: server: %w", h.plugins[0].manifest.File, err)
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
				errs = append(errs, discovery.UsageErrorf("plugins %q (%s) and %q (%s) both offer the tool %s: take one of them out, give one a prefix, or deny the tool to one with deny_tools in %s",
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
func (h *Host) gatewayConfig(found *discovery.Found, o Options) gateway.Config {
	c := gateway.Config{Name: "bulkhead", Version: o.Version, Offers: h.gatewayOffers(), Checked: true, Log: o.Log.Named("gateway")}
	if found.Server != nil && found.Server.Name != "" {
		c.Name = found.Server.Name
	}
	if found.Untrusted != nil {
		c.Instructions = "This server offers nothing yet. " + found.Untrusted.Error() + "; then start the server again. Only the user can decide that."
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
