package host

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
)

// observed is what is told of a Host while it serves clients, as [audit] says: metrics, the live state and traces. It implements httpserver.Metrics.
type observed struct {
	host *Host // set by Open

	mu      sync.Mutex
	serving int                // number of Serve and ServeHTTP that run
	http    *httpserver.Server // nil: clients are not served over HTTP

	at      config.Metrics                  // where metrics can be read; zero: nothing is measured
	metrics atomic.Pointer[metrics.Metrics] // nil: nothing is measured; it is changed under the lock only
	own     *metrics.Server                 // nil: there is no listener for metrics alone

	state *live.State  // nil: the live state is not kept
	live  *live.Server // that offers it

	to       config.Traces
	exporter *traces.Exporter   // nil: nothing is traced
	closing  []*traces.Exporter // those that send their last spans
	before   traces.Stats       // of exporters that were closed
}

// flushTime bounds the time in which the last spans are sent.
const flushTime = time.Second

// observe begins to observe what the config says, until end is called, which may take flushTime. server is nil on stdio. If metrics cannot be offered, ServeHTTP
// fails with the *UsageError; servers on stdio go on without: several clients may start one with the same config, and the tools matter more. It waits for a
// reload, whose change would not contain what begins in between.
func (h *Host) observe(ctx context.Context, server *httpserver.Server) (end func(), err error) {
	if err := h.lock(ctx); err != nil {
		return nil, err
	}
	defer h.unlock()
	o := &h.observed
	var old *traces.Exporter
	o.mu.Lock()
	defer func() { o.mu.Unlock(); o.flush(old) }()
	change := o.prepare(h.catalog().Found)
	if change.failed != nil && server != nil {
		return nil, change.failed
	}
	o.serving++
	if server != nil {
		o.http = server
	}
	old = o.apply(change)
	return func() { o.end(server) }, nil
}

// end ends what observe has begun.
func (o *observed) end(server *httpserver.Server) {
	o.mu.Lock()
	if o.serving--; server != nil {
		o.http = nil
	}
	var change metricsChange
	if o.serving > 0 {
		change.at = o.at
	}
	old := o.apply(change)
	o.mu.Unlock()
	o.flush(old)
}

// commit applies a change that prepareMetrics has returned, and what the config in force says of the live state and traces. A Host that serves no clients,
// or none any more, is not observed.
func (c metricsChange) commit() {
	o := c.observed
	o.mu.Lock()
	if o.serving == 0 {
		o.mu.Unlock()
		c.abort()
		return
	}
	old := o.apply(c)
	o.mu.Unlock()
	o.flush(old)
}

// apply applies the change, and what the config in force says of the live state and traces. It returns the Exporter that was used before, which the caller
// must flush after it has released the lock; nil if it is still in use, or there was none.
func (o *observed) apply(c metricsChange) (old *traces.Exporter) {
	found := o.host.catalog().Found
	before := o.own
	o.applyMetrics(c)
	o.applyState(found)
	old = o.applyTraces(found)
	o.host.dispatcher.Observe(dispatch.Observers{Metrics: o.metrics.Load(), State: o.state, Traces: o.exporter})
	if before != nil && before != o.own {
		before.Close()
	}
	return old
}

// applyState offers the live state, or no longer. If it cannot be offered, that is logged: the tools matter more.
func (o *observed) applyState(found *discovery.Found) {
	wanted := found.Audit.HasLiveState() && o.serving > 0
	switch {
	case wanted == (o.live != nil):
	case !wanted:
		o.live.Close()
		o.live, o.state = nil, nil
	default:
		transport := "stdio"
		if o.http != nil {
			transport = "http"
		}
		state := live.New(transport, o.host.dispatcher.AddState)
		err := errors.New("there is no directory for it: set HOME or XDG_STATE_HOME")
		if found.Places.State != "" {
			o.live, err = live.Listen(live.Dir(found.Places.State), state)
		}
		if err != nil {
			o.host.options.Log.Error("the live state of this server cannot be read", "reason", err.Error())
			return
		}
		o.state = state
	}
}

// applyTraces sends the spans of further requests to a collector, and returns the Exporter that was used before, if it has changed.
func (o *observed) applyTraces(found *discovery.Found) (old *traces.Exporter) {
	to := config.Traces{}
	if o.serving > 0 {
		to = found.Audit.TracesTo()
	}
	if o.to == to {
		return nil
	}
	old = o.exporter
	o.to, o.exporter = to, nil
	if (to != config.Traces{}) {
		c := traces.Config{To: to.To, Sample: to.Sample, Version: found.Options.Version, Log: o.host.options.Log.Named("traces")}
		if to.HeadersFile != "" {
			c.Headers = func() (http.Header, error) { return discovery.CollectorHeaders(to.HeadersFile) }
		}
		o.exporter = traces.New(c)
	}
	if old != nil {
		o.closing = append(o.closing, old)
	}
	return old
}

// flush closes an Exporter, which may be nil. It waits at most for flushTime, without the lock, so that metrics can be read meanwhile.
func (o *observed) flush(old *traces.Exporter) {
	if old == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	old.Close(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = slices.DeleteFunc(o.closing, func(e *traces.Exporter) bool { return e == old })
	o.before = o.before.Plus(old.Stats())
}
