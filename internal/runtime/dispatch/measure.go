package dispatch

import (
	"runtime"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
)

// Observers are told of what happens. Those that are nil are not.
type Observers struct {
	Metrics *metrics.Metrics
	State   *live.State
	Traces  *traces.Exporter // only requests with an audit record, and lists, have spans
}

// Observe has o told of what happens from now on. Open must have been called.
func (d *Dispatcher) Observe(o Observers) {
	d.observers.Store(&o)
	if o.Metrics == nil {
		d.pool.Observe(nil)
		return
	}
	d.pool.Observe(o.Metrics)
	g := d.acquire()
	defer g.release()
	g.expect(o.Metrics)
}

func (v *view) observers() *Observers { return v.generation.dispatcher.observers.Load() }

// expect adds the plugins of the generation to m.
func (g *generation) expect(m *metrics.Metrics) {
	for p := range g.plugins() {
		if p.Problem == "" {
			m.Expect(p.Name)
		}
	}
}

// write adds a record to the audit log, and has it counted.
func (g *generation) write(r audit.Record) error {
	g.observe(&r, "", nil)
	return g.audit.Write(r)
}

// observe has counted and shown what a record is about. client and times are those of metrics.Metrics.Record.
func (g *generation) observe(r *audit.Record, client string, times *call.Times) {
	o := g.dispatcher.observers.Load()
	if o.Metrics != nil {
		o.Metrics.Record(r, client, times)
	}
	if o.State != nil {
		o.State.Record(r)
	}
}

// observe has counted, shown and traced a request that has ended with err. span may be nil.
func (v *view) observe(r *call.Request, record *audit.Record, span *traces.Identity, err error) {
	v.generation.observe(record, v.catalog.Key.Client, r.Times)
	v.observeOperation(r, record, span, err)
}

// observeOperation has a request traced, and its duration counted.
func (v *view) observeOperation(r *call.Request, record *audit.Record, span *traces.Identity, err error) {
	o := v.observers()
	if o.Metrics != nil && !r.Part {
		o.Metrics.Operation(record)
	}
	if o.Traces != nil && span != nil {
		span.Status = gateway.ErrorCode(r, err)
		o.Traces.Add(span.Call(record, r.Times))
	}
}

// reportCompiled is told of each compilation of a module.
func (d *Dispatcher) reportCompiled(plugin string, took time.Duration, err error) {
	if m := d.observers.Load().Metrics; m != nil {
		m.Compiled(plugin, took, err)
	}
}

// names reports whether the generation has a plugin, a tool or a table of clients with a name.
func (g *generation) names(label, name string) bool {
	for key, v := range *g.views.Load() {
		switch label {
		case metrics.Plugin:
			if slices.ContainsFunc(v.plugins, func(p *plugin) bool { return p.Name == name }) {
				return true
			}
		case metrics.Tool:
			if v.catalog.Tool(name) != nil || v.catalog.HostTools().Has(name) {
				return true
			}
		case metrics.Client:
			if name == metrics.NoTable || key.Client == name || v.catalog.Clients.Table(name) != nil {
				return true
			}
		}
	}
	return false
}

// AddMetrics adds the state of queues, workers, plugins and the audit log to a page of metrics.
func (d *Dispatcher) AddMetrics(page *metrics.Page) {
	g := d.acquire()
	defer g.release()
	d.addQueues(page, g)
	d.addPool(page, g)
	lost := page.Counter("bulkhead_audit_lost_records_total", "Audit records that could not be written, to the file and to each copy.", "log")
	failing := page.Gauge("bulkhead_audit_failing", "Whether audit records are lost now.", "log")
	for _, s := range g.audit.States() {
		lost.Add(float64(s.Lost), s.Name)
		failing.Add(truth(s.Failing), s.Name)
	}
	c := g.catalog()
	plugins := page.Gauge("bulkhead_plugin_info", "The plugins of the config, with their versions; a plugin that is left out because of a fault has the value 0.", metrics.Plugin, "version")
	for _, p := range c.Plugins {
		version := ""
		if p.Manifest != nil {
			version = p.Manifest.Version
		}
		plugins.Add(truth(p.Problem == ""), p.Name, version)
	}
	page.Gauge("bulkhead_build_info", "The version of this program and of Go.", "version", "goversion").Add(1, c.Options.Version, runtime.Version())
	page.Gauge("bulkhead_policy_info", "The digest of the config in force, its included files, the ceiling, the manifests of its plugins with the digests of their modules, which of them are served, as revocations say, and which tools are granted.", "digest").Add(1, c.PolicyDigest())
	page.Gauge("go_goroutines", "Number of goroutines that currently exist.").Add(float64(runtime.NumGoroutine()))
}

func (d *Dispatcher) addQueues(page *metrics.Page, g *generation) {
	calls := page.Gauge("bulkhead_queue_calls", "Calls in the queues of plugins that wait, and those that run.", metrics.Plugin, "state")
	slots := page.Gauge("bulkhead_queue_slots", "Calls of a plugin that may run at the same time.", metrics.Plugin)
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, l := range g.lanes {
		waiting, running, limit := l.queue.length()
		calls.Add(float64(waiting), key.plugin, "waiting")
		calls.Add(float64(running), key.plugin, "running")
		slots.Add(float64(limit), key.plugin)
	}
}

func (d *Dispatcher) addPool(page *metrics.Page, g *generation) {
	now := d.pool.Stats()
	workers := page.Gauge("bulkhead_workers", "Worker processes that run.", metrics.Plugin)
	for p := range g.plugins() {
		workers.Add(0, p.Name)
	}
	for plugin, n := range now.Workers {
		workers.Add(float64(n), plugin)
	}
	page.Gauge("bulkhead_memory_budget_bytes", "Memory that all workers may use together.").Add(float64(now.Budget))
	page.Gauge("bulkhead_memory_credit_bytes", "Memory that workers may use now, as they were granted it.").Add(float64(now.Credit))
	page.Gauge("bulkhead_memory_waiting_requests", "Calls and workers that wait for memory.").Add(float64(now.WaitingRequests))
}

// truth returns 1 for true.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
