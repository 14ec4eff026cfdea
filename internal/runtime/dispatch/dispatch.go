// Package dispatch executes the requests of clients. It finds the plugin in the catalog, orders the calls of each plugin and bounds how
// many run at the same time, starts the plugin's worker with the granted handles, performs the operations that a worker must not
// perform itself, and writes the audit records. A Dispatcher is the gateway.Backend of the host.
//
// New starts nothing. Open opens the audit log and the store of compiled modules, and the first call of a plugin starts its worker.
// Prepare and Apply replace the Catalog while requests are executed; the type generation explains how.
package dispatch

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/approval"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/results"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/secret"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Dispatcher executes requests to the plugins of a Catalog. It is safe for concurrent use.
type Dispatcher struct {
	*Backend // of the default Catalog

	log     hclog.Logger
	store   *code.Store
	derived *derived.Store // store of derived data; nil: no derived data are kept
	pool    *worker.Pool
	zone    func() []byte         // returns the local time zone, which is read only once
	gitUser func() git.UserConfig // returns the user's current configuration of git

	approvals  approval.Used               // of all principals and generations
	results    results.Store[resultSource] // of all principals and generations
	skillReads queue                       // of requests that read skills

	projectSkillProblems lastText // those that were logged

	workerCommand   []string
	commands        secret.Commands // for secret values
	warnConfinement sync.Once

	current   atomic.Pointer[generation]
	observers atomic.Pointer[Observers]

	held atomic.Pointer[func(state string) []*os.File] // see Hold

	background sync.WaitGroup
	stop       context.CancelFunc // stops background work
	stopped    context.Context

	mu      sync.Mutex
	live    []*generation   // the current generation and those with requests in flight; guarded by mu
	warming context.Context // context of Warm, nil before Warm is called; guarded by mu
}

// New returns a Dispatcher for the plugins of the Catalog c, the default one. It executes requests only after Open is called.
func New(c *catalog.Catalog) *Dispatcher {
	system := c.Options.System
	d := &Dispatcher{
		log:        c.Options.Log,
		skillReads: queue{concurrentReads: true, limit: maxSkillReads, free: maxSkillReads, share: maxPrincipalSkillReads},
		zone:       sync.OnceValue(func() []byte { return sandbox.LocalZone(system.LookupEnv("TZ")) }),
	}
	d.observers.Store(&Observers{})
	d.Backend = d.BackendOf(c.Key)
	d.gitUser = warnOfChange(d.log, func() (git.UserConfig, error) {
		config, _ := system.LookupEnv("XDG_CONFIG_HOME")
		return git.UserFiles{Home: c.Places.Home, XDG: config, System: git.SystemFiles()}.Read()
	})
	d.stopped, d.stop = context.WithCancel(context.Background())
	first := newGeneration(d, []*catalog.Catalog{c}, nil)
	first.configureLanes()
	d.live = []*generation{first}
	d.current.Store(first)
	return d
}

// Hold makes further workers that may write inherit the files that locks returns for the state directory of their project, whose locks then
// last as long as the workers do. The files must stay open until Close.
func (d *Dispatcher) Hold(locks func(state string) []*os.File) { d.held.Store(&locks) }

// Catalog returns the default Catalog of further requests.
func (d *Dispatcher) Catalog() *catalog.Catalog { return d.current.Load().catalog() }

// PolicyDigest returns the digest of the policy that is in force: see catalog.Catalog.PolicyDigest.
func (d *Dispatcher) PolicyDigest() string { return d.Catalog().PolicyDigest() }

// Open opens the audit log and the store of compiled code. Calls require both.
func (d *Dispatcher) Open() error {
	if d.workerCommand = reexec.Command(reexec.Worker); d.workerCommand == nil {
		return errors.New("host.RunChild must be called first in main: modules run in processes of their own")
	}
	first := d.current.Load()
	c := first.catalog()
	if err := first.checkSystem(); err != nil {
		return err
	}
	d.pool = worker.NewPool(c.Memory())
	confined := func(report confine.Report) error { return d.current.Load().checkConfinement(report) }
	var err error
	var dir string
	if d.store, dir, err = openStore(d.log, c.CacheDir, confined, d.reportCompiled); err != nil {
		return err
	}
	if dir != "" {
		d.derived = derived.NewStore(derived.Dir(dir), d.log)
	}
	first.audit, err = d.openAudit(c)
	return err
}

// find queues the request r.
func (v *view) find(r call.Request) (gateway.Queued, *abi.Error) {
	var queued gateway.Queued
	switch r.Method {
	case abi.MethodToolsCall:
		if v.catalog.HostTools().Has(r.Name) {
			return v.enqueueHostTool(r)
		}
		queued = v.enqueueToolCall(r)
	case abi.MethodPromptsGet:
		queued = v.enqueueSearch(r, v.catalog.WithPrompt(r.Name))
	case abi.MethodResourcesRead:
		if queued = v.enqueueSkill(r); queued == nil {
			queued = v.enqueueSearch(r, v.catalog.WithResource(r.Name))
		}
	case call.MethodSkillsGet, call.MethodDirectoryRead:
		queued = v.enqueueSkill(r)
	case call.MethodSkillsList:
		return skillList{r, v}, nil
	case abi.MethodComplete:
		queued = v.enqueueSearch(r, v.catalog.WithCompletion(r.Ref))
	default:
		return v.enqueueListing(r), nil
	}
	if queued != nil {
		return queued, nil
	}
	return nil, v.unknown(r)
}

// unknown records a request for something that the view does not offer, and returns the client's error.
func (v *view) unknown(r call.Request) *abi.Error {
	err := gateway.Unknown(r.Method, r.Name, v.catalog.WhyUnknown(r.Method, r.Name))
	v.reportRefused(r, err)
	return err
}

// ReportHTTPRefusal records a request without access to the HTTP server.
func (d *Dispatcher) ReportHTTPRefusal(r httpserver.Refusal) {
	g := d.acquire()
	defer g.release()
	if g.audit == nil {
		return
	}
	_ = g.write(audit.Record{Kind: audit.KindRefused, ID: g.audit.NewID(), Principal: r.Principal, Address: r.Address, Method: r.Method, Outcome: audit.Denied,
		Code: r.Code, Reason: r.Reason, Further: r.Further})
}

// RecordEvent records what happened to the server as a whole, if an audit log is kept. It adds the ID, and the config to a change of policy.
func (d *Dispatcher) RecordEvent(record audit.Record) {
	g := d.acquire()
	defer g.release()
	if g.audit == nil {
		return
	}
	record.ID = g.audit.NewID()
	if c := g.catalog(); record.Kind == audit.KindPolicy && len(c.Files) > 0 {
		record.Config, record.Digest = c.Config, c.Files[0].SHA256
	}
	_ = g.write(record) // the log counts lost records
}

// reportRefused records a request for something that the view does not offer, which is answered with err.
func (v *view) reportRefused(r call.Request, err error) {
	if v.generation.audit != nil {
		code, p := v.catalog.Refusal(r)
		v.recordRefused(r, p, code, err)
	}
}

// recordRefused records a request that was refused with err, if an audit log is kept. The request had no effect, so that the response does not depend on
// whether the record is lost.
func (v *view) recordRefused(r call.Request, p *catalog.Plugin, code string, err error) {
	log := v.generation.audit
	if log == nil {
		return
	}
	record := v.recordOf(&r, p)
	record.Kind, record.ID, record.Outcome, record.Code, record.BytesIn = audit.KindRefused, log.NewID(), audit.Denied, code, int64(len(r.Params))
	_ = v.generation.write(record)
	v.traceRefused(&r, &record, err)
}
