package host

import (
	"context"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
)

// flushTime bounds the time in which the last spans are sent.
const flushTime = time.Second

// traced is what is sent to a collector while a Host serves clients, as otlp in [audit] says.
type traced struct {
	mu       sync.Mutex
	serving  int    // number of Serve and ServeHTTP that run
	to       string // base URL of the collector; empty: nothing is traced
	exporter *traces.Exporter
	before   traces.Stats // of exporters that were closed
}

// trace begins to trace if the config says so, until end is called. end waits at most for flushTime.
func (h *Host) trace() (end func()) {
	t := &h.traced
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serving++
	h.traceTo(h.catalog().Audit.TracesTo())
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.serving--; t.serving == 0 {
			h.traceTo("")
		}
	}
}

// changeTraces sends the spans of further requests to where the config in force says.
func (h *Host) changeTraces(a *config.Audit) {
	h.traced.mu.Lock()
	defer h.traced.mu.Unlock()
	if h.traced.serving > 0 {
		h.traceTo(a.TracesTo())
	}
}

// traceTo sends the spans of further requests to a collector. The caller holds the lock of h.traced.
func (h *Host) traceTo(to string) {
	t := &h.traced
	if t.to == to {
		return
	}
	old := t.exporter
	t.to, t.exporter = to, nil
	if to != "" {
		t.exporter = traces.New(to, h.catalog().Options.Version, h.options.Log.Named("traces"))
	}
	h.dispatcher.Trace(t.exporter)
	if old != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		old.Close(ctx)
		last := old.Stats()
		t.before.Sent += last.Sent
		t.before.Dropped += last.Dropped
	}
}

// addMetrics adds what has become of spans to a page of metrics.
func (t *traced) addMetrics(page *metrics.Page) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.before
	if t.exporter != nil {
		last := t.exporter.Stats()
		now.Sent += last.Sent
		now.Dropped += last.Dropped
	}
	spans := page.Counter("bulkhead_trace_spans_total", "Spans that the collector of traces has accepted (sent), and those that were lost (dropped).", "result")
	spans.Add(float64(now.Sent), "sent")
	spans.Add(float64(now.Dropped), "dropped")
}
