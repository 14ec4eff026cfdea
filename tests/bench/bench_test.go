// Package bench compares Bulkhead with a native server on mcp-go. Both run alternately on the same machine. The result is the
// ratio of their medians (x-native).
package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/tests/bench/sample"
)

// binaries are the paths of the host, the native server, and the directory that holds the echo plugin.
type binaries struct{ host, native, echo, dir string }

func buildAll(b *testing.B) binaries {
	b.Helper()
	dir := b.TempDir()
	s := binaries{host: filepath.Join(dir, "bulkhead"), native: filepath.Join(dir, "native"), dir: dir}
	for out, pkg := range map[string]string{s.host: "../../cmd/bulkhead", s.native: "./testdata/native"} {
		command := exec.Command("go", "build", "-o", out, pkg)
		command.Env = append(os.Environ(), "CGO_ENABLED=0") // as in releases
		if text, err := command.CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v\n%s", pkg, err, text)
		}
	}
	r, err := build.Build(context.Background(), "testdata/echo", build.Options{Out: filepath.Join(dir, "echo")})
	if err != nil {
		b.Fatal(err)
	}
	s.echo = filepath.Dir(r.Dir)
	return s
}

// server is a running MCP server.
type server struct {
	b     *testing.B
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

func start(b *testing.B, dir, program string, args ...string) *server {
	b.Helper()
	s := &server{b: b, cmd: exec.Command(program, args...)}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(os.TempDir(), "bulkhead-bench-cache"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	in, err := s.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	s.in, s.lines = in, bufio.NewReaderSize(out, 1<<20)
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return s
}

func (s *server) send(message string) {
	s.b.Helper()
	if _, err := io.WriteString(s.in, message+"\n"); err != nil {
		s.b.Fatal(err)
	}
}

func (s *server) receive() []byte {
	s.b.Helper()
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		s.b.Fatal(err)
	}
	return line
}

func (s *server) ask(message string) []byte {
	s.b.Helper()
	s.send(message)
	return s.receive()
}

func (s *server) stop() {
	s.b.Helper()
	if err := s.in.Close(); err != nil {
		s.b.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.b.Error(err)
	}
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	list        = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
)

// echo returns a call of the tool echo.
func echo(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello there"}}}`, id)
}

// greet opens a session and returns the answer to tools/list.
func (s *server) greet() []byte {
	s.b.Helper()
	s.ask(initialize)
	s.send(initialized)
	return s.ask(list)
}

// ratio reports the medians of host and native, and their ratio.
func ratio(b *testing.B, host, native []time.Duration, each int) {
	b.Helper()
	median := func(times []time.Duration) float64 {
		slices.Sort(times)
		return float64(times[len(times)/2].Nanoseconds()) / float64(each) / 1000
	}
	h, n := median(host), median(native)
	b.ReportMetric(h, "host-µs")
	b.ReportMetric(n, "native-µs")
	b.ReportMetric(h/n, "x-native")
	b.ReportMetric(0, "ns/op") // hide ns/op, which would be the meaningless sum of both servers
}

// BenchmarkStart measures from the start of the process to the first answer of tools/list.
func BenchmarkStart(b *testing.B) {
	s := buildAll(b)
	for _, plugins := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("%dplugins", plugins), func(b *testing.B) {
			dir := b.TempDir()
			for p := range plugins {
				pluginDir := filepath.Join(dir, "plugins", fmt.Sprintf("sample%d", p))
				if err := os.MkdirAll(pluginDir, 0o755); err != nil {
					b.Fatal(err)
				}
				write(b, filepath.Join(pluginDir, "plugin.toml"), sample.Manifest(p))
				write(b, filepath.Join(pluginDir, "sample.wasm"), "no module: listing must not read it")
			}
			project := filepath.Join(dir, "project")
			if err := os.Mkdir(project, 0o755); err != nil {
				b.Fatal(err)
			}
			commands := [2][]string{
				{s.host, "serve", "--plugins", filepath.Join(dir, "plugins"), "--project", project},
				{s.native, fmt.Sprint(plugins)},
			}
			var times [2][]time.Duration
			for b.Loop() {
				for i, command := range commands {
					began := time.Now()
					p := start(b, project, command[0], command[1:]...)
					answer := p.greet()
					times[i] = append(times[i], time.Since(began))
					if got := strings.Count(string(answer), `"inputSchema"`); got != plugins*sample.Tools {
						b.Fatalf("%s lists %d tools", command[0], got)
					}
					p.stop()
				}
			}
			ratio(b, times[0], times[1], 1)
		})
	}
}

func write(b *testing.B, file, text string) {
	b.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// batch is the number of calls that are timed together.
const batch = 3 * 64

// BenchmarkCall measures calls of an echo tool: one at a time, 64 in flight, and a whole batch in flight.
func BenchmarkCall(b *testing.B) {
	s := buildAll(b)
	var calls []string
	for id := range batch {
		calls = append(calls, echo(id))
	}
	together := strings.Join(calls, "\n")
	together64 := strings.Join(calls[:64], "\n") + "\n"
	ways := map[string]func(p *server){
		"64_at_once": func(p *server) {
			for range batch / 64 {
				if _, err := io.WriteString(p.in, together64); err != nil {
					b.Fatal(err)
				}
				for range 64 {
					p.checkEcho(p.receive())
				}
			}
		},
		"one_at_a_time": func(p *server) {
			for _, call := range calls {
				p.checkEcho(p.ask(call))
			}
		},
		"pipelined": func(p *server) {
			sent := make(chan error, 1)
			go func() {
				_, err := io.WriteString(p.in, together+"\n")
				sent <- err
			}()
			for range calls {
				p.checkEcho(p.receive())
			}
			if err := <-sent; err != nil {
				b.Fatal(err)
			}
		},
	}
	for _, run := range []struct{ way, isolation string }{
		{"one_at_a_time", "pristine"}, {"one_at_a_time", "reused"}, {"pipelined", "pristine"}, {"pipelined", "reused"},
		{"64_at_once", "pristine"}, {"64_at_once", "reused"},
	} {
		way := run.way
		b.Run(way+"/"+run.isolation, func(b *testing.B) {
			config := filepath.Join(b.TempDir(), "bulkhead.toml")
			write(b, config, fmt.Sprintf("[[plugins]]\npath = %q\nisolation = %q\n", filepath.Join(s.echo, "echo"), run.isolation))
			servers := [2]*server{
				start(b, s.dir, s.host, "serve", "--config", config, "--project", s.dir),
				start(b, s.dir, s.native),
			}
			for _, p := range servers {
				p.greet()
				ways[way](p)
			}
			var times [2][]time.Duration
			for b.Loop() {
				for i, p := range servers {
					began := time.Now()
					ways[way](p)
					times[i] = append(times[i], time.Since(began))
				}
			}
			for _, p := range servers {
				p.stop()
			}
			ratio(b, times[0], times[1], batch)
		})
	}
}

// checkEcho checks the answer to echo.
func (s *server) checkEcho(line []byte) {
	s.b.Helper()
	if !bytes.Contains(line, []byte(`"result":{"content":[{"type":"text","text":"hello there"}]`)) {
		s.b.Fatalf("got %s", line)
	}
}
