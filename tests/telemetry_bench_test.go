//go:build linux

package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkTelemetry compares calls of a server with metrics, traces, live state or all of them with those of one that has only the audit log. Both are
// called in turn, in blocks, in one run:
//
//	go test ./tests -run '^$' -bench '^BenchmarkTelemetry$' -benchtime 300x -count 5
//
// "cpu" is processor time of the server and its workers for a call, sending included; the other times are medians of what the client waits.
func BenchmarkTelemetry(b *testing.B) {
	collector := collect(b)
	plugins := filepath.Join(builtPlugins(b, "../plugins/filesystem"), "filesystem")
	for _, kind := range []string{"metrics", "traces", "live", "all"} {
		b.Run(kind, func(b *testing.B) {
			project := newDir(b, map[string]string{"a.txt": "one"})
			keys := map[string]string{
				"metrics": fmt.Sprintf("metrics = %q\n", "unix:"+filepath.Join(project, "m")),
				"traces":  fmt.Sprintf("otlp = %q\n", collector.URL),
				"live":    "live = true\n",
			}
			on := keys[kind]
			if kind == "all" {
				on = keys["metrics"] + keys["traces"] + keys["live"]
			}
			compareServers(b, plugins, project, on)
		})
	}
}

// compareServers calls a server without the keys and one with them in turn, and reports what a call costs each.
func compareServers(b *testing.B, plugin, project, keys string) {
	var servers [2]*server
	for i, keys := range []string{"", keys} {
		dir := newDir(b, nil)
		config := filepath.Join(dir, "bulkhead.toml")
		putFile(b, config, fmt.Sprintf("[audit]\nfile = %q\n%s[[plugins]]\npath = %q\nfs = [{ path = %q, access = 'r' }]\n", filepath.Join(dir, "audit.jsonl"), keys, plugin, project))
		servers[i] = startServer(b, programCommand(b, "serve", "--config", config))
		servers[i].ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		servers[i].send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	arguments := jsonOf(b, map[string]any{"path": project + "/a.txt"})
	for _, s := range servers {
		s.mustCall("read_text_file", arguments) // starts the worker
	}
	const block = 50 // calls: processor time is counted in ticks, of 10 ms as a rule
	var took [2][]time.Duration
	var ticks [2]int
	for n := range b.N {
		for i := range servers {
			i = (i + n) % 2
			s := servers[i]
			before := s.ticks()
			for range block {
				began := time.Now()
				s.mustCall("read_text_file", arguments)
				took[i] = append(took[i], time.Since(began))
			}
			ticks[i] += s.ticks() - before
		}
	}
	for i, label := range []string{"off", "on"} {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds()), "us-"+label)
		b.ReportMetric(float64(ticks[i])*tickMS*1000/float64(len(took[i])), "cpu-us-"+label)
	}
	b.ReportMetric(float64(took[1][len(took[1])/2])/float64(took[0][len(took[0])/2]), "on/off")
	b.ReportMetric(float64(ticks[1])/float64(max(ticks[0], 1)), "cpu-on/off")
}
