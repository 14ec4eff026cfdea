package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
)

// BenchmarkFirstCallOfChant measures the processor time of all processes from the start of a server to the answer of the
// first call of chant, with its code in the cache, and the private memory of the worker process after that.
func BenchmarkFirstCallOfChant(b *testing.B) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		b.Skip("no /proc/self/smaps_rollup on this system")
	}
	s := buildAll(b)
	plugins, project := filepath.Join(b.TempDir(), "plugins"), b.TempDir()
	if _, err := build.Build(context.Background(), filepath.Join("..", "..", "plugins", "chant"), build.Options{Out: plugins}); err != nil {
		b.Fatal(err)
	}
	writeSpecs(b, project, 10)
	first := func() *server {
		p := start(b, project, s.host, "serve", "--no-config", "--plugins", plugins, "--project", project)
		p.greet()
		p.ask(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"chant_status","arguments":{}}}`)
		return p
	}
	first().stop() // fills the cache
	var used []time.Duration
	var memory []time.Duration // in bytes, for medianOf
	for b.Loop() {
		p := first()
		used = append(used, processorTime(b, p.cmd.Process.Pid))
		time.Sleep(time.Second) // the worker returns the memory of loading to the system
		for _, child := range childrenOf(b, p.cmd.Process.Pid) {
			memory = append(memory, time.Duration(memoryOf(b, child, "Private_")))
		}
		p.stop()
	}
	b.ReportMetric(medianOf(used)/1000, "cpu-ms")
	b.ReportMetric(medianOf(memory)*1000/(1<<20), "worker-MiB")
	b.ReportMetric(0, "ns/op")
}

// childrenOf returns the child processes of a process.
func childrenOf(b *testing.B, pid int) []int {
	b.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		b.Fatal(err)
	}
	var children []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// memoryOf returns the sum of the lines of smaps_rollup of a process that begin with kind, in bytes.
func memoryOf(b *testing.B, pid int, kind string) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	var total int64
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && strings.HasPrefix(fields[0], kind) {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			total += kib << 10
		}
	}
	return total
}
