package host

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
)

// measured is what is measured while a Host serves clients, as metrics in [audit] says. It implements httpserver.Metrics.
type measured struct {
	mu      sync.Mutex
	host    *Host
	serving int                             // number of Serve and ServeHTTP that run
	http    *httpserver.Server              // nil: clients are not served over HTTP
	at      config.Metrics                  // where metrics can be read; zero: nothing is measured
	metrics atomic.Pointer[metrics.Metrics] // nil: nothing is measured; it is changed under the lock only
	own     *metrics.Server                 // nil: there is no listener for them alone
}

var _ httpserver.Metrics = (*measured)(nil)

// measure begins to measure if the config says so, until end is called. server is nil on stdio. If metrics cannot be offered, measure
// returns a *UsageError. It waits for a reload, whose change would not contain what begins in between.
func (h *Host) measure(ctx context.Context, server *httpserver.Server) (end func(), err error) {
	if err := h.lock(ctx); err != nil {
		return nil, err
	}
	defer h.unlock()
	m := &h.measured
	m.mu.Lock()
	defer m.mu.Unlock()
	m.host = h
	change, err := m.prepare(h.catalog().Found, server != nil || m.http != nil)
	if err != nil {
		return nil, err
	}
	if server != nil {
		m.http = server
	}
	change.apply()
	m.serving++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if server != nil {
			m.http = nil
		}
		if m.serving--; m.serving == 0 {
			metricsChange{measured: m}.apply()
		}
	}, nil
}

// metricsChange is a change of what is measured, and of where it can be read. It must be applied or aborted.
type metricsChange struct {
	measured *measured
	at       config.Metrics
	own      *metrics.Server // for at; nil: it has none, or at is not new
}

// prepareMetrics returns the change to what a config says of metrics, while the Host serves clients or not. The caller holds the lock of reloads
// until the change is applied or aborted.
func (h *Host) prepareMetrics(found *discovery.Found) (metricsChange, error) {
	m := &h.measured
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.serving == 0 {
		return metricsChange{measured: m}, nil
	}
	return m.prepare(found, m.http != nil)
}

// prepare returns the change to what a config says of metrics. http is whether clients are served over HTTP. The caller holds the lock.
func (m *measured) prepare(found *discovery.Found, http bool) (metricsChange, error) {
	c := metricsChange{measured: m, at: found.Audit.MetricsAt()}
	if c.at.HTTP && !http {
		c.at = config.Metrics{} // nobody could read them
	}
	if c.at == m.at || c.at.Address == "" {
		return c, nil
	}
	var err error
	if c.own, err = metrics.Listen(c.at.Address); err != nil {
		return c, usage.Errorf("%s: audit.metrics: cannot listen on %s: %w\n  remedy: end the other program that listens there, such as another server with this config, or name another address",
			found.Audit.Source, c.at.Address, err)
	}
	return c, nil
}

// abort drops the change.
func (c metricsChange) abort() {
	if c.own != nil {
		c.own.Close()
	}
}

// commit applies the change, unless the Host serves no clients, or none any more.
func (c metricsChange) commit() {
	c.measured.mu.Lock()
	defer c.measured.mu.Unlock()
	if c.measured.serving == 0 {
		c.abort()
		return
	}
	c.apply()
}

// apply implements commit. The caller holds the lock of c.measured.
func (c metricsChange) apply() {
	m := c.measured
	if c.at == m.at {
		return
	}
	log, before := m.host.options.Log.Named("metrics"), m.own
	m.at, m.own = c.at, c.own
	switch {
	case m.at == config.Metrics{}:
		m.metrics.Store(nil)
		m.host.dispatcher.Measure(nil)
	case m.metrics.Load() == nil:
		m.metrics.Store(metrics.New(m.host.dispatcher.AddMetrics, m.add, m.host.traced.addMetrics))
		m.host.dispatcher.Measure(m.metrics.Load())
	}
	if m.own != nil {
		m.own.Serve(m.metrics.Load(), log)
		log.Info("metrics can be read", "address", m.own.Addr())
	}
	if before != nil {
		before.Close()
	}
}

// current returns the metrics if clients of the HTTP server may be allowed to read them; else nil.
func (m *measured) current() *metrics.Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at.HTTP {
		return nil
	}
	return m.metrics.Load()
}

// Offered implements httpserver.Metrics.
func (m *measured) Offered() bool { return m.current() != nil }

// MayRead implements httpserver.Metrics.
func (m *measured) MayRead(p *call.Principal) bool { return m.host.catalog().Clients.MayReadMetrics(p) }

// Counter implements httpserver.Metrics.
func (m *measured) Counter() httpserver.Counter {
	if now := m.metrics.Load(); now != nil {
		return now
	}
	return nil
}

// ServeHTTP implements httpserver.Metrics.
func (m *measured) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if now := m.current(); now != nil {
		now.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// add adds the state of the HTTP server, quotas and tasks to a page of metrics.
func (m *measured) add(page *metrics.Page) {
	m.mu.Lock()
	server := m.http
	m.mu.Unlock()
	tasks := page.Gauge("bulkhead_tasks", "Calls that run as tasks, and tasks that have ended and whose results are kept.", "state")
	running, kept := m.host.tasks.Count()
	tasks.Add(float64(running), "running")
	tasks.Add(float64(kept), "kept")
	accounts, exceeded := m.host.quotas.Stats()
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
