package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// baseVariable is the environment variable with the program of an earlier version, for comparison.
const baseVariable = "BULKHEAD_BENCH_BASE"

// BenchmarkWorker compares the processor time per call, over all processes of a server, with that of an earlier version
// that had no worker processes.
func BenchmarkWorker(b *testing.B) {
	base := os.Getenv(baseVariable)
	if base == "" {
		b.Skipf("%s does not name the program of an earlier version", baseVariable)
	}
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		b.Skip("no /proc/self/schedstat on this system")
	}
	s := buildAll(b)
	programs := [2]string{s.host, base}
	for _, size := range []int{200, 10_000} {
		for _, together := range []int{1, 64} {
			b.Run(fmt.Sprintf("%dB/%d_at_once", size, together), func(b *testing.B) {
				var servers [2]*server
				for i, program := range programs {
					servers[i] = startEcho(b, s, program)
					servers[i].echoes(size, together, 3*64) // warm up
				}
				var used [2][]time.Duration
				for b.Loop() {
					for i, p := range servers {
						before := processorTime(b, p.cmd.Process.Pid)
						p.echoes(size, together, batch)
						used[i] = append(used[i], (processorTime(b, p.cmd.Process.Pid)-before)/batch)
					}
				}
				for _, p := range servers {
					p.stop()
				}
				now, before := medianOf(used[0]), medianOf(used[1])
				b.ReportMetric(now, "cpu-µs")
				b.ReportMetric(before, "base-cpu-µs")
				b.ReportMetric(now-before, "added-cpu-µs")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkFirstCall measures the time from the start of a server to the first answer of a plugin with cached code.
func BenchmarkFirstCall(b *testing.B) {
	base := os.Getenv(baseVariable)
	if base == "" {
		b.Skipf("%s does not name the program of an earlier version", baseVariable)
	}
	s := buildAll(b)
	var times [2][]time.Duration
	programs := [2]string{s.host, base}
	for _, program := range programs {
		p := startEcho(b, s, program) // fill the cache
		p.echoes(200, 1, 1)
		p.stop()
	}
	for b.Loop() {
		for i, program := range programs {
			began := time.Now()
			p := startEcho(b, s, program)
			p.echoes(200, 1, 1)
			times[i] = append(times[i], time.Since(began))
			p.stop()
		}
	}
	now, before := medianOf(times[0]), medianOf(times[1])
	b.ReportMetric(now/1000, "ms")
	b.ReportMetric(before/1000, "base-ms")
	b.ReportMetric(now/before, "x-base")
	b.ReportMetric(0, "ns/op")
}

// startEcho starts a server with the echo plugin and isolation = "reused".
func startEcho(b *testing.B, s binaries, program string) *server {
	b.Helper()
	config := filepath.Join(b.TempDir(), "bulkhead.toml")
	write(b, config, fmt.Sprintf("[[plugins]]\npath = %q\nisolation = \"reused\"\n", filepath.Join(s.echo, "echo")))
	p := start(b, s.dir, program, "serve", "--config", config, "--project", s.dir)
	p.greet()
	return p
}

// echoes makes calls with texts of the given size. The number together says how many are in flight at a time.
func (s *server) echoes(size, together, calls int) {
	s.b.Helper()
	text := strings.Repeat("x", size)
	line := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}` + "\n"
	for done := 0; done < calls; {
		n := min(together, calls-done)
		var lines strings.Builder
		for i := range n {
			lines.WriteString(strings.Replace(line, `"id":7`, `"id":`+strconv.Itoa(i), 1))
		}
		sent := make(chan error, 1)
		go func() { _, err := io.WriteString(s.in, lines.String()); sent <- err }()
		for range n {
			if answer := s.receive(); !bytes.Contains(answer, []byte(text)) {
				s.b.Fatalf("got %.200s", answer)
			}
		}
		if err := <-sent; err != nil {
			s.b.Fatal(err)
		}
		done += n
	}
}

func medianOf(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Nanoseconds()) / 1000
}

// processorTime returns the processor time of a process and its descendants.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	var total time.Duration
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		if err != nil {
			continue // the thread has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += time.Duration(ns)
	}
	for _, child := range childrenOf(b, pid) {
		total += processorTime(b, child)
	}
	return total
}
