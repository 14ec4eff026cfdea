//go:build unix

package host_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// BenchmarkClients makes the same calls over HTTP by one client without tables, and by twenty named clients with five roles. It reports the
// processor time for each call, that of workers included, and on Linux the number of workers at the end. Every answer is checked.
//
//	go test ./host -run '^$' -bench Clients -benchtime 20000x -count 5
func BenchmarkClients(b *testing.B) {
	for name, roles := range map[string]int{"one": 0, "roles": 5} {
		b.Run(name, func(b *testing.B) { loadClients(b, roles) })
	}
}

// loadTable is the table of a role, of which each may call another part of the tools.
const loadTable = "[[clients]]\nname = 'role-%[1]d'\nmatch = { tokens = ['r%[1]d-*'] }\nallow_tools = ['t%[1]d', 'common']\n"

func loadClients(b *testing.B, roles int) {
	tools := hosttest.Reads("common")
	for i := range 5 {
		tools += hosttest.Reads(fmt.Sprint("t", i))
	}
	w := hosttest.New(b, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), tools))
	config := "[[plugins]]\npath = '../plugins/a'\n[http]\ntokens = true\n"
	for i := range roles {
		config += fmt.Sprintf(loadTable, i)
	}
	w.Write(b, hosttest.Files{"work/bulkhead.toml": config})
	file := bearer.In(filepath.Join(w.Dir, "state", "bulkhead"))
	var tokens []string
	for i := range 20 {
		token, _, err := file.New(b.Context(), fmt.Sprintf("r%d-%d", i%5, i), nil)
		if err != nil {
			b.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	if roles == 0 {
		tokens = tokens[:1]
	}
	h, err := host.Open(w.Options())
	if err != nil {
		b.Fatal(err)
	}
	url, end := serveHTTP(b, h, host.HTTPOptions{Address: "127.0.0.1:0"})
	for i := range tokens { // compiles the module, and makes the views
		if status, body := callTool(b, url, tokens[i], "common"); status != http.StatusOK {
			b.Fatal(status, body)
		}
	}
	before := processorTime(b)
	var calls atomic.Int64
	b.SetParallelism(4)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := int(calls.Add(1))
			client, tool := n%len(tokens), n%5
			allowed := n%50 != 0
			if !allowed && roles > 0 {
				tool = (tool + 1) % 5
			}
			allowed = allowed || roles == 0
			if _, body := callTool(b, url, tokens[client], fmt.Sprint("t", tool)); strings.Contains(body, `"done"`) != allowed {
				b.Errorf("client %d, tool %d: %s", client, tool, body)
			}
		}
	})
	b.StopTimer()
	children, _ := filepath.Glob("/proc/self/task/*/children")
	workers := 0
	for _, file := range children {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		workers += len(strings.Fields(string(data)))
	}
	if err := end(); err == nil {
		b.Error("the server ended by itself")
	}
	if err := h.Close(b.Context()); err != nil {
		b.Error(err)
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(workers), "workers")
}

// processorTime returns what this process and its ended children have used.
func processorTime(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return sum
}
