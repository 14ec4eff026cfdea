//go:build unix

package hostile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// BenchmarkNeighbour measures how much a plugin that uses all of its processor time slows pings and calls of another plugin.
// It reports the ratios of medians and of 99th percentiles. Measurements with and without load alternate.
func BenchmarkNeighbour(b *testing.B) {
	harming := func(parts ...any) []byte {
		m := wasmtest.Plugin(exceptAtLoad(answering(), forever(parts...)), done, wasi("random_get", wasmtest.TwoToI))
		m.Memory = []byte{0, 0xfa, 1} // 250 pages
		return m.Bytes()
	}
	for _, harm := range []struct {
		name   string
		module []byte
	}{
		{"loops", harming()},
		{"copies", harming(num(0), num(1), num(15<<20), prefixFC, 10, 0, 0)},
		{"random", harming(invoke(wasmtest.Extra, 0, 15<<20), drop)},
	} {
		for _, calls := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d_calls", harm.name, calls), func(b *testing.B) {
				w := newWorkspace(b)
				w.addModule("harm", harm.module, `limits = { time = "5m" }`)
				s := w.serve()
				var alone, beside waits
				for b.Loop() {
					alone.measure(s)
					stop := s.harm(calls)
					beside.measure(s)
					stop()
				}
				b.ReportMetric(beside.call.at(50)/alone.call.at(50), "x-call-p50")
				b.ReportMetric(beside.call.at(99)/alone.call.at(99), "x-call-p99")
				b.ReportMetric(beside.ping.at(50)/alone.ping.at(50), "x-ping-p50")
				b.ReportMetric(beside.ping.at(99)/alone.ping.at(99), "x-ping-p99")
				b.ReportMetric(alone.call.at(50), "alone-µs")
				b.ReportMetric(beside.call.at(99), "beside-p99-µs")
				b.ReportMetric(0, "ns/op") // hide ns/op, which would be the meaningless sum of all measurements
			})
		}
	}
}

// waits contains the latencies of calls and pings.
type waits struct{ call, ping times }

type times []time.Duration

// at returns a percentile in microseconds.
func (t times) at(percent int) float64 {
	slices.Sort(t)
	return float64(t[(len(t)-1)*percent/100].Nanoseconds()) / 1000
}

// measure makes 100 calls and pings. The pause lets the instance of the previous call be restored first.
func (w *waits) measure(s *server) {
	s.t.Helper()
	for range 100 {
		began := time.Now()
		s.call("echo", `{"text":"still here"}`)
		w.call = append(w.call, time.Since(began))
		time.Sleep(500 * time.Microsecond)
		began = time.Now()
		s.await(s.request("ping", `{}`))
		w.ping = append(w.ping, time.Since(began))
	}
}

// harm starts calls of the plugin harm. The function stop cancels them.
func (s *server) harm(calls int) (stop func()) {
	s.t.Helper()
	var ids []int
	for range calls {
		s.begin("harm", `{}`)
		ids = append(ids, s.lastID())
	}
	time.Sleep(50 * time.Millisecond) // time for the calls to start
	return func() {
		s.t.Helper()
		for _, id := range ids {
			s.cancel(id)
		}
	}
}
