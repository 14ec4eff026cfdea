//go:build unix

package languages

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/hosttest"
)

// BenchmarkEcho measures the module of the conformance kit in each language: its size, the processor time of a worker process
// until it has answered its first call with the code in the cache, and the worker's processor time per further call.
func BenchmarkEcho(b *testing.B) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		b.Skip("no /proc/self/schedstat on this system")
	}
	b.Run("Go", func(b *testing.B) {
		module := filepath.Join(b.TempDir(), "module.wasm")
		command := exec.Command("go", "build", "-buildmode=c-shared", "-o", module, "../../internal/conform/testdata/module")
		command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		measure(b, module)
	})
	for _, l := range languages {
		b.Run(l.name, func(b *testing.B) {
			dir := filepath.Join(source(b, l), l.conformanceDir)
			run(b, dir, l.conformance)
			measure(b, filepath.Join(dir, l.conformanceModule))
		})
	}
}

func measure(b *testing.B, module string) {
	manifest, err := os.ReadFile("../../internal/conform/abi-1/plugin.toml")
	if err != nil {
		b.Fatal(err)
	}
	wasm, err := os.ReadFile(module)
	if err != nil {
		b.Fatal(err)
	}
	w := hosttest.New(b, hosttest.Files{"plugins/conform/plugin.toml": string(manifest), "plugins/conform/module.wasm": string(wasm)})
	open := func() *host.Host {
		h, err := host.Open(w.Options())
		if err != nil {
			b.Fatal(err)
		}
		hosttest.Call(b, h, "echo", `{"text":"hello"}`)
		return h
	}
	shut := func(h *host.Host) {
		if err := h.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	shut(open()) // fills the cache
	h := open()
	defer shut(h)
	started := childrensTime(b)
	const calls = 100
	rounds := 0
	for b.Loop() {
		for range calls {
			hosttest.Call(b, h, "echo", `{"text":"hello"}`)
		}
		rounds++
	}
	used := childrensTime(b) - started
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(wasm))/1000, "kB")
	b.ReportMetric(float64(started.Microseconds())/1000, "start-cpu-ms")
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(rounds*calls), "cpu-µs/call")
}

// childrensTime returns the processor time of the child processes of this process.
func childrensTime(b *testing.B) time.Duration {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		b.Fatal(err)
	}
	var total time.Duration
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(pids)) {
			stats, err := filepath.Glob(fmt.Sprintf("/proc/%s/task/*/schedstat", pid))
			if err != nil {
				b.Fatal(err)
			}
			for _, file := range stats {
				if stat, err := os.ReadFile(file); err == nil {
					ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
					if err != nil {
						b.Fatal(err)
					}
					total += time.Duration(ns)
				}
			}
		}
	}
	return total
}
