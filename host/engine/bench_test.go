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

// BenchmarkIsolation compares the median of a call that begins with a clean state with that of one on a reused
// instance (aim: at most 1.5), and with making an instance (aim: at most 0.05). The three take turns, and each
// call comes when the one before has been put back, which is off its path.
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
				side.m.pool.work.Wait()
			}
		}
		began := time.Now()
		inst, failure := sides[0].m.fresh(b.Context())
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
	b.ReportMetric(0, "ns/op") // of all together: says nothing
}

// BenchmarkResident tells what fifty modules keep in memory each: after a call, and when their instances are
// released.
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
			b.Fatal("it did not happen within a minute")
		}
	}
}

// resident is how much memory the process has, in MiB.
func resident(b *testing.B) float64 {
	b.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skipf("only Linux says how much memory a process has: %v", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
