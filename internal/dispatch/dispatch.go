// Package dispatch executes the requests of clients: it finds the plugin in the catalog, orders the calls of each plugin
// and bounds how many run at a time, starts the plugin's worker with what is granted, performs the operations that a
// worker must not perform itself, and writes the audit records. A Dispatcher is the gateway.Backend of the host.
//
// New starts nothing; Open opens the audit log and the store of compiled modules, and the first call of a plugin starts its
// worker.
package dispatch

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Dispatcher executes requests to the plugins of a Catalog. It is safe for concurrent use.
type Dispatcher struct {
	catalog *catalog.Catalog
	plugins []*plugin // at the indexes of catalog.Plugins
	log     hclog.Logger

	audit   *audit.Log // nil if none is kept
	store   *code.Store
	derived *derived.Store // nil: no derived data are kept
	pool    *worker.Pool
	zone    func() []byte   // the local time zone, read once
	gitUser func() git.User // returns the user's current configuration of git

	workerCommand       []string
	confinementRequired bool
	warnConfinement     sync.Once

	background sync.WaitGroup
	stop       context.CancelFunc // stops background work
	stopped    context.Context
}

var _ gateway.Backend = (*Dispatcher)(nil)

// New returns a Dispatcher. It executes requests only after Open.
func New(c *catalog.Catalog) *Dispatcher {
	system := c.Options.System
	d := &Dispatcher{
		catalog: c,
		log:     c.Options.Log,
		zone:    sync.OnceValue(func() []byte { return sandbox.LocalZone(system.LookupEnv("TZ")) }),
	}
	d.gitUser = warnOfChange(d.log, func() (git.User, error) {
		config, _ := system.LookupEnv("XDG_CONFIG_HOME")
		return git.ReadUser(c.Places.Home, config)
	})
	d.stopped, d.stop = context.WithCancel(context.Background())
	for _, p := range c.Plugins {
		d.plugins = append(d.plugins, newPlugin(d, p))
	}
	return d
}

// Open opens the audit log and the store of compiled code, which calls need.
func (d *Dispatcher) Open() error {
	if d.workerCommand = reexec.Command(reexec.Worker); d.workerCommand == nil {
		return errors.New("host.RunChild must be called first in main: modules run in processes of their own")
	}
	c := d.catalog
	if d.confinementRequired = c.Server != nil && c.Server.Confined; d.confinementRequired {
		if err := d.checkConfinement(confine.Probe()); err != nil {
			return discovery.UsageErrorf("%s: %w", c.Config, err)
		}
	}
	d.pool = worker.NewPool(c.Memory())
	var err error
	var dir string
	if d.store, dir, err = openStore(d.log, c.CacheDir); err != nil {
		return err
	}
	if dir != "" {
		d.derived = derived.NewStore(derived.Dir(dir), d.log)
	}
	d.audit, err = openAudit(c.Audit, d.log)
	return err
}

// Find implements gateway.Backend.
func (d *Dispatcher) Find(r gateway.Request) (gateway.Call, *abi.Error) {
	var call gateway.Call
	switch r.Method {
	case abi.MethodToolsCall:
		call = d.newToolCall(r)
	case abi.MethodPromptsGet:
		call = d.newSearch(r, d.catalog.WithPrompt(r.Name))
	case abi.MethodResourcesRead:
		call = d.newSearch(r, d.catalog.WithResource(r.Name))
	case abi.MethodComplete:
		call = d.newSearch(r, d.catalog.WithCompletion(r.Ref))
	default:
		return d.newListing(r), nil
	}
	if call != nil {
		return call, nil
	}
	d.ReportRefused(r)
	return nil, gateway.Unknown(r.Method, r.Name, d.catalog.WhyUnknown(r.Method, r.Name))
}

// CanSubscribe implements gateway.Backend.
func (d *Dispatcher) CanSubscribe(r gateway.Request) bool {
	if d.catalog.CanSubscribe(r.Name) {
		return true
	}
	d.ReportRefused(r)
	return false
}

// ReportRefused implements gateway.Backend. It records a request for something that is not offered. The request had no effect, so the client gets the
// same response even if the record is lost.
func (d *Dispatcher) ReportRefused(r gateway.Request) {
	if d.audit == nil {
		return
	}
	code, p := d.catalog.Refusal(r)
	record := audit.Record{
		Kind: audit.KindRefused, ID: d.audit.NewID(), Client: r.Client, Method: r.Method, Tool: r.Name,
		Outcome: audit.Denied, Code: code, BytesIn: int64(len(r.Params)),
	}
	if p != nil {
		record.Plugin, record.Version, record.Digest = p.Name, p.Manifest.Version, p.Manifest.Module.SHA256
	}
	_ = d.audit.Write(record)
}
