package engine

import (
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkIsolation compares the median time of a call on a restored instance, including the restore, with the times of a
// call on a reused instance (target: ratio at most 1.5) and of creating an instance (target: ratio at most 0.05). The three
// alternate.
func BenchmarkIsolation(b *testing.B) {
	var sides [2]struct {
		m     *Module
		times []time.Duration
	}
	var fresh []time.Duration
	for i := range sides {
		sides[i].m = newModule(b, Spec{Reused: i == 1})
	}
	for b.Loop() {
		for range 100 {
			for i := range sides {
				side := &sides[i]
				began := time.Now()
				if _, err := callTool(b.Context(), side.m, "echo", `{"text":"hello there"}`); err != nil {
					b.Fatal(err)
				}
				side.times = append(side.times, time.Since(began))
			}
		}
		began := time.Now()
		inst, failure := sides[0].m.newInstance(b.Context())
		if failure != nil {
			b.Fatal(failure)
		}
		fresh = append(fresh, time.Since(began))
		inst.close()
	}
	median := func(t []time.Duration) float64 {
		slices.Sort(t)
		return float64(t[len(t)/2].Nanoseconds()) / 1000
	}
	pristine, reused, made := median(sides[0].times), median(sides[1].times), median(fresh)
	b.ReportMetric(pristine, "pristine-µs")
	b.ReportMetric(pristine/reused, "x-reused")
	b.ReportMetric(pristine/made, "x-fresh")
	b.ReportMetric(0, "ns/op") // the sum of the three is meaningless
}

// BenchmarkResident measures the memory of each of fifty modules after a call, and after their idle instances are closed.
func BenchmarkResident(b *testing.B) {
	const modules = 50
	for b.Loop() {
		before := resident(b)
		var all []*Module
		for range modules {
			m := newModule(b, Spec{Idle: time.Second})
			if _, err := callTool(b.Context(), m, "echo", `{}`); err != nil {
				b.Fatal(err)
			}
			all = append(all, m)
		}
		report := func(what string) { b.ReportMetric((resident(b)-before)/modules, what) }
		report("MiB-after-a-call")
		until(b, func() bool { return !slices.ContainsFunc(all, (*Module).holdsInstance) })
		report("MiB-resting")
		b.ReportMetric(0, "ns/op")
	}
}

func until(b *testing.B, done func() bool) {
	b.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("timed out after a minute")
		}
	}
}

// resident returns the resident memory of the process in MiB.
func resident(b *testing.B) float64 {
	b.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skipf("requires /proc: %v", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
