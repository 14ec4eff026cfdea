package host

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
)

// Measures reports whether a Host counts what it does.
func Measures(h *Host) bool { return h.observed.metrics.Load() != nil }

// PrepareMetrics prepares a change of metrics to the config in force, as a reload does, and returns the function that commits it.
func PrepareMetrics(h *Host) (commit func()) { return h.prepareMetrics(h.catalog().Found).commit }

// TestMetricsChangeOfEndedServerIsDropped commits a change, as a reload does, after the last Serve has ended.
func TestMetricsChangeOfEndedServerIsDropped(t *testing.T) {
	own, err := metrics.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{}
	m := &h.observed
	metricsChange{observed: m, at: config.Metrics{Address: "127.0.0.1:0"}, own: own}.commit()
	if m.own != nil || m.metrics.Load() != nil || m.at != (config.Metrics{}) {
		t.Errorf("measured at %v", m.at)
	}
	if l, err := net.Listen("tcp", own.Addr().String()); err != nil {
		t.Errorf("the listener stays open: %v", err)
	} else {
		_ = l.Close()
	}
}

// TestMeasuringWaitsForReload begins to serve while a reload has prepared its change of metrics, which would not know of it.
func TestMeasuringWaitsForReload(t *testing.T) {
	h := &Host{reloading: make(chan struct{}, 1)}
	if err := h.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.observe(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
