package host

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
)

// flushTime bounds the time in which the last spans are sent.
const flushTime = time.Second

// traced is what is sent to a collector while a Host serves clients, as otlp in [audit] says.
type traced struct {
	mu       sync.Mutex
	serving  int // number of Serve and ServeHTTP that run
	to       config.Traces
	exporter *traces.Exporter
	closing  []*traces.Exporter // those that send their last spans
	before   traces.Stats       // of exporters that were closed
}

// trace begins to trace if the config says so, until end is called. end waits at most for flushTime.
func (h *Host) trace() (end func()) {
	h.changeTraces(1)
	return func() { h.changeTraces(-1) }
}

// changeTraces sends the spans of further requests to where the config in force says, if the Host serves clients after more Serve and ServeHTTP began.
// It waits at most for flushTime, without the lock, so that metrics can be read meanwhile.
func (h *Host) changeTraces(more int) {
	t := &h.traced
	t.mu.Lock()
	t.serving += more
	to := config.Traces{}
	if t.serving > 0 {
		to = h.catalog().Audit.TracesTo()
	}
	old := h.traceTo(to)
	t.mu.Unlock()
	if old == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	old.Close(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = slices.DeleteFunc(t.closing, func(e *traces.Exporter) bool { return e == old })
	last := old.Stats()
	t.before.Sent += last.Sent
	t.before.Dropped += last.Dropped
}

// traceTo sends the spans of further requests to a collector. It returns the Exporter that was used before, which the caller must close; nil if it is
// still in use, or there was none. The caller holds the lock of h.traced.
func (h *Host) traceTo(to config.Traces) (old *traces.Exporter) {
	t := &h.traced
	if t.to == to {
		return nil
	}
	old = t.exporter
	t.to, t.exporter = to, nil
	if (to != config.Traces{}) {
		c := traces.Config{To: to.To, Sample: to.Sample, Version: h.catalog().Options.Version, Log: h.options.Log.Named("traces")}
		if to.HeadersFile != "" {
			c.Headers = func() (http.Header, error) { return discovery.CollectorHeaders(to.HeadersFile) }
		}
		t.exporter = traces.New(c)
	}
	h.dispatcher.Trace(t.exporter)
	if old != nil {
		t.closing = append(t.closing, old)
	}
	return old
}

// addMetrics adds what has become of spans to a page of metrics.
func (t *traced) addMetrics(page *metrics.Page) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.before
	for _, e := range append(slices.Clone(t.closing), t.exporter) {
		if e != nil {
			last := e.Stats()
			now.Sent += last.Sent
			now.Dropped += last.Dropped
		}
	}
	spans := page.Counter("bulkhead_trace_spans_total", "Spans that the collector of traces has accepted (sent), and those that were lost (dropped).", "result")
	spans.Add(float64(now.Sent), "sent")
	spans.Add(float64(now.Dropped), "dropped")
}
