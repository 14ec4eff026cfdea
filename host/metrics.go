package host

import (
	"net/http"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
)

var _ httpserver.Metrics = (*observed)(nil)

// metricsChange is a change of what is measured, and of where it can be read. It must be applied or aborted.
type metricsChange struct {
	observed *observed
	at       config.Metrics
	own      *metrics.Server // for at; nil: it has none, it could not be opened, or it is open already
	failed   error           // why there is no listener for at
}

// prepareMetrics returns the change to what a config says of metrics, while the Host serves clients or not. The caller holds the lock of reloads
// until the change is committed or aborted.
func (h *Host) prepareMetrics(found *discovery.Found) metricsChange {
	o := &h.observed
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.serving == 0 {
		return metricsChange{observed: o}
	}
	return o.prepare(found)
}

// prepare returns the change to what a config says of metrics. Without a listener the change can be applied nevertheless: any user of the machine may occupy
// an address, and must not prevent a change that narrows a grant. The caller holds the lock.
func (o *observed) prepare(found *discovery.Found) metricsChange {
	c := metricsChange{observed: o, at: found.Audit.MetricsAt()}
	if c.at.Address == "" || c.at == o.at && o.own != nil {
		return c
	}
	var err error
	if c.own, err = metrics.Listen(c.at.Address); err != nil {
		c.failed = usage.Errorf("%s: audit.metrics: cannot listen on %s: %w\n  remedy: %s",
			found.Audit.Source, c.at.Address, err, addressRemedy)
	}
	return c
}

// abort drops the change.
func (c metricsChange) abort() {
	if c.own != nil {
		c.own.Close()
	}
}

// applyMetrics applies the change. The caller holds the lock. ServeHTTP may have ended since the change was prepared.
func (o *observed) applyMetrics(c metricsChange) {
	if c.at.HTTP && o.http == nil {
		c.at = config.Metrics{} // no client could read them
	}
	if c.at == o.at && c.own == nil {
		return
	}
	if c.failed != nil {
		o.host.options.Log.Error("the metrics of this server cannot be read", "reason", reasonOf(c.failed))
	}
	o.at, o.own = c.at, c.own
	switch {
	case !o.at.HTTP && o.own == nil: // no client can read them
		o.metrics.Store(nil)
	case o.metrics.Load() == nil:
		o.metrics.Store(metrics.New(o.host.dispatcher.AddMetrics, o.add))
	}
	if o.own != nil {
		log := o.host.options.Log.Named("metrics")
		o.own.Serve(o.metrics.Load(), log)
		log.Info("metrics can be read", "address", o.own.Addr())
	}
}

// current returns the metrics if clients of the HTTP server may be allowed to read them; else nil.
func (o *observed) current() *metrics.Metrics {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.at.HTTP {
		return nil
	}
	return o.metrics.Load()
}

// Offered implements httpserver.Metrics.
func (o *observed) Offered() bool { return o.current() != nil }

// MayRead implements httpserver.Metrics.
func (o *observed) MayRead(p *call.Principal) bool { return o.host.catalog().Clients.MayReadMetrics(p) }

// Counter implements httpserver.Metrics.
func (o *observed) Counter() httpserver.Counter {
	if now := o.metrics.Load(); now != nil {
		return now
	}
	return nil
}

// ServeHTTP implements httpserver.Metrics.
func (o *observed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if now := o.current(); now != nil {
		now.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// add adds the state of the HTTP server, quotas, tasks and traces to a page of metrics.
func (o *observed) add(page *metrics.Page) {
	o.mu.Lock()
	server, sent := o.http, o.before
	for _, e := range append(slices.Clone(o.closing), o.exporter) {
		if e != nil {
			sent = sent.Plus(e.Stats())
		}
	}
	o.mu.Unlock()
	spans := page.Counter("bulkhead_trace_spans_total", "Spans that the collector of traces has accepted (sent), and those that were lost (dropped).", "result")
	spans.Add(float64(sent.Sent), "sent")
	spans.Add(float64(sent.Dropped), "dropped")
	tasks := page.Gauge("bulkhead_tasks", "Calls that run as tasks, and tasks that have ended and whose results are kept.", "state")
	running, kept := o.host.tasks.Count()
	tasks.Add(float64(running), "running")
	tasks.Add(float64(kept), "kept")
	accounts, exceeded := o.host.quotas.Stats()
	page.Gauge("bulkhead_quota_principals", "Clients with a quota whose use is counted.").Add(float64(accounts))
	refused := page.Counter("bulkhead_quota_exceeded_total", "Requests and calls that were refused because of a quota.", "quota")
	for key, n := range exceeded {
		refused.Add(float64(n), key)
	}
	if server == nil {
		return
	}
	now := server.Stats()
	for _, one := range []struct {
		name, help string
		value      int64
	}{
		{"sessions", "Sessions of clients that are open.", int64(now.Sessions)},
		{"connections", "Connections that are open.", int64(now.Connections)},
		{"requests", "Requests that are handled.", int64(now.Requests)},
		{"streams", "Streams that are open without a call.", int64(now.Streams)},
		{"kept_message_bytes", "Bytes of messages that are kept for clients.", now.KeptBytes},
	} {
		page.Gauge("bulkhead_http_"+one.name, one.help).Add(float64(one.value))
	}
	draining := 0.0
	if now.Draining {
		draining = 1
	}
	page.Gauge("bulkhead_http_draining", "Whether the server shuts down.").Add(draining)
	codes := page.Counter("bulkhead_http_refused_total", "HTTP requests without access, by reason.", "reason")
	for code, n := range now.Refused {
		codes.Add(float64(n), code)
	}
}
