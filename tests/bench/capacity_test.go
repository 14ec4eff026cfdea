//go:build linux

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
)

// The projects of BenchmarkCapacity: how many servers have, and in how many of them calls are made.
const fewProjects, manyProjects, activeProjects = 1, 257, 8

// BenchmarkCapacity measures what one server over HTTP needs for calls, projects and sessions. `just capacity` computes docs/capacity.md from it.
func BenchmarkCapacity(b *testing.B) {
	s := buildAll(b)
	var plugins []string
	for _, name := range []string{"time", "filesystem"} {
		r, err := build.Build(context.Background(), "../../plugins/"+name, build.Options{Out: filepath.Join(s.dir, name)})
		if err != nil {
			b.Fatal(err)
		}
		plugins = append(plugins, r.Dir)
	}
	b.Run("calls", func(b *testing.B) { capacityOfCalls(b, s, plugins) })
	b.Run("memory", func(b *testing.B) { capacityOfMemory(b, s, plugins) })
}

// capacityOfCalls measures the processor time of all processes of the server for a call, with 16 in flight, and the time for each of the writes
// that wait for each other.
func capacityOfCalls(b *testing.B, s binaries, plugins []string) {
	p := startProjects(b, s, plugins, activeProjects)
	kinds := []struct {
		name string
		at   func(client, n int) (project int, tool, arguments string)
	}{
		{"stateless", func(int, int) (int, string, string) { return 0, "get_current_time", `{"timezone":"Europe/Berlin"}` }},
		{"read", func(client, _ int) (int, string, string) {
			return client % activeProjects, "read_text_file", `{"path":"file.txt"}`
		}},
		{"write", func(client, n int) (int, string, string) {
			return client % activeProjects, "write_file", fmt.Sprintf(`{"path":"new%d.txt","content":"call %d"}`, client, n)
		}},
		{"write-one", func(client, n int) (int, string, string) {
			return 0, "write_file", fmt.Sprintf(`{"path":"new%d.txt","content":"call %d"}`, client, n)
		}},
	}
	const clients, each = 16, 12
	used, took := map[string][]time.Duration{}, map[string][]time.Duration{}
	round := func() {
		for _, kind := range kinds {
			before, began := processorTime(b, p.cmd.Process.Pid), time.Now()
			var all sync.WaitGroup
			for client := range clients {
				all.Go(func() {
					for n := range each {
						project, tool, arguments := kind.at(client, n)
						p.call(project, tool, arguments)
					}
				})
			}
			all.Wait()
			used[kind.name] = append(used[kind.name], (processorTime(b, p.cmd.Process.Pid)-before)/(clients*each))
			took[kind.name] = append(took[kind.name], time.Since(began)/(clients*each))
		}
	}
	round() // starts the workers
	clear(used)
	clear(took)
	for b.Loop() {
		round()
	}
	b.ReportMetric(medianOf(used["stateless"]), "stateless-cpu-µs")
	b.ReportMetric(medianOf(used["read"]), "read-cpu-µs")
	b.ReportMetric(medianOf(used["write"]), "write-cpu-µs")
	b.ReportMetric(medianOf(took["write-one"]), "write-of-one-project-µs")
	b.ReportMetric(0, "ns/op")
}

// capacityOfMemory measures the memory (PSS) of a server for each project without calls, each worker, and each session of versions before
// 2026-07-28 with its stream, and what a worker has of [server] memory. Servers end with their round, since processes that share pages share their PSS.
func capacityOfMemory(b *testing.B, s binaries, plugins []string) {
	for b.Loop() {
		few := startProjects(b, s, plugins, fewProjects)
		base := few.memory()
		const sessions = 200
		for range sessions {
			few.openSession()
		}
		session := (few.memory() - base) / sessions
		few.end()
		many := startProjects(b, s, plugins, manyProjects)
		idle := many.memory()
		many.call(0, "get_current_time", `{"timezone":"Europe/Berlin"}`) // the worker of time, which all projects share
		started, before := many.memory(), processorTime(b, many.cmd.Process.Pid)
		for project := range activeProjects {
			many.call(project, "read_text_file", `{"path":"file.txt"}`)
		}
		first := (processorTime(b, many.cmd.Process.Pid) - before) / activeProjects
		for project := range activeProjects {
			for range 20 {
				many.call(project, "read_text_file", `{"path":"file.txt"}`)
			}
		}
		b.ReportMetric(float64(base)/(1<<20), "base-MiB")
		b.ReportMetric(float64(session)/(1<<10), "session-KiB")
		b.ReportMetric(float64(idle-base)/(manyProjects-fewProjects)/(1<<10), "project-KiB")
		b.ReportMetric(float64(many.memory()-started)/activeProjects/(1<<20), "worker-MiB")
		b.ReportMetric(many.credit()/(activeProjects+1)/(1<<20), "credit-MiB")
		b.ReportMetric(float64(first.Microseconds()), "first-call-cpu-µs")
		b.ReportMetric(0, "ns/op")
		many.end()
	}
}

// startProjects starts a server with n projects besides its own, and with metrics if there are many.
func startProjects(b *testing.B, s binaries, plugins []string, n int) *httpServer {
	b.Helper()
	dir := b.TempDir()
	var config strings.Builder
	metrics := freeAddress(b)
	if n == manyProjects {
		fmt.Fprintf(&config, "[audit]\nfile = %q\nmetrics = %q\n", filepath.Join(dir, "audit.jsonl"), metrics)
	}
	for _, plugin := range plugins {
		fmt.Fprintf(&config, "[[plugins]]\npath = %q\n", plugin)
		if strings.HasSuffix(plugin, "filesystem") {
			config.WriteString("fs = [{ path = '${project}', access = 'rw' }]\n")
		}
	}
	for i := range n {
		project := filepath.Join(dir, "projects", fmt.Sprintf("p%d", i))
		if err := os.MkdirAll(project, 0o700); err != nil {
			b.Fatal(err)
		}
		write(b, filepath.Join(project, "file.txt"), "content")
		fmt.Fprintf(&config, "[[projects]]\nname = 'p%d'\npath = %q\n", i, project)
	}
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		b.Fatal(err)
	}
	write(b, filepath.Join(dir, "bulkhead.toml"), config.String())
	address := freeAddress(b)
	server := startHTTP(b, own, address, s.host, "serve", "--config", filepath.Join(dir, "bulkhead.toml"), "--project", own, "--http", address)
	server.metrics = "http://" + metrics + "/metrics"
	return server
}

// credit returns what the workers have of [server] memory, in bytes.
func (s *httpServer) credit() float64 {
	r, err := s.client.Get(s.metrics)
	if err != nil {
		s.b.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "bulkhead_memory_credit_bytes "); ok {
			credit, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.b.Fatal(err)
			}
			return credit
		}
	}
	s.b.Fatal("there is no metric of the memory that workers have")
	return 0
}

// call calls a tool in a project, by 2026-07-28.
func (s *httpServer) call(project int, tool, arguments string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
	r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/p%d", s.url, project), strings.NewReader(body))
	if err != nil {
		s.b.Error(err)
		return
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		r.Header.Set(name, value)
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.b.Error(err)
		return
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || !bytes.Contains(text, []byte(`"content":[`)) || bytes.Contains(text, []byte(`"isError":true`)) {
		s.b.Errorf("%s: %v, %s", tool, err, text)
	}
}

// openSession opens a session with its stream, which stays open until the end of the benchmark.
func (s *httpServer) openSession() {
	r, err := s.post(initialize, []string{})
	if err != nil {
		s.b.Fatal(err)
	}
	r.Body.Close()
	session := []string{"Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-06-18"}
	s.ask(initialized, session)
	get, err := http.NewRequest(http.MethodGet, s.url, nil)
	if err != nil {
		s.b.Fatal(err)
	}
	get.Header.Set("Accept", "text/event-stream")
	get.Header.Set(session[0], session[1])
	get.Header.Set(session[2], session[3])
	stream, err := http.DefaultClient.Do(get)
	if err != nil {
		s.b.Fatal(err)
	}
	s.b.Cleanup(func() { stream.Body.Close() })
	if stream.StatusCode != http.StatusOK {
		s.b.Fatalf("GET: %s", stream.Status)
	}
}

// memory returns the proportional memory of all processes of the server in bytes, once it has settled.
func (s *httpServer) memory() int64 {
	time.Sleep(2 * time.Second)
	var sum func(pid int) int64
	sum = func(pid int) (total int64) {
		for _, child := range childrenOf(s.b, pid) {
			total += sum(child)
		}
		return total + memoryOf(s.b, pid, "Pss:")
	}
	return sum(s.cmd.Process.Pid)
}
