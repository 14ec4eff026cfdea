package bench

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// httpServer is a running MCP server over HTTP, with a session.
type httpServer struct {
	b       *testing.B
	cmd     *exec.Cmd
	url     string
	metrics string // URL; empty: there are none
	session string
	client  *http.Client
}

func startHTTP(b *testing.B, dir, address, program string, args ...string) *httpServer {
	b.Helper()
	s := &httpServer{
		b: b, cmd: exec.Command(program, args...), url: "http://" + address + "/mcp",
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	s.cmd.Dir, s.cmd.Stderr = dir, io.Discard
	s.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(os.TempDir(), "bulkhead-bench-cache"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.end)
	for range 500 {
		if r, err := s.post(initialize, nil); err == nil {
			s.session = r.Header.Get("Mcp-Session-Id")
			r.Body.Close()
			s.ask(initialized, nil)
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Fatal("the server does not answer")
	return nil
}

// end ends the server, if it runs.
func (s *httpServer) end() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// modernHeaders are those of a call of echo.
var modernHeaders = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo"}

// post sends a message of the session, or with headers of the modern era.
func (s *httpServer) post(body string, headers []string) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if headers == nil && s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.client.Do(r)
}

func (s *httpServer) ask(body string, headers []string) string {
	r, err := s.post(body, headers)
	if err != nil {
		s.b.Error(err)
		return ""
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		s.b.Error(err)
	}
	return string(answer)
}

// freeAddress returns a loopback address that no program listens on.
func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// BenchmarkHTTP measures calls of an echo tool over HTTP, one at a time and 64 at once, in both eras.
func BenchmarkHTTP(b *testing.B) {
	s := buildAll(b)
	const legacy = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello there"}}}`
	const modern = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello there"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for _, run := range []struct {
		name    string
		body    string
		headers []string
	}{{"legacy", legacy, nil}, {"modern", modern, modernHeaders}} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d_at_once", run.name, clients), func(b *testing.B) {
				first, second := freeAddress(b), freeAddress(b)
				servers := [2]*httpServer{
					startHTTP(b, s.dir, first, s.host, "serve", "--no-config", "--plugins", s.echo, "--project", s.dir, "--http", first),
					startHTTP(b, s.dir, second, s.native, "http", second),
				}
				each := max(1, batch/clients)
				var ids atomic.Int64
				round := func(p *httpServer) {
					var all sync.WaitGroup
					for range clients {
						all.Go(func() {
							for range each {
								if answer := p.ask(fmt.Sprintf(run.body, ids.Add(1)), run.headers); !strings.Contains(answer, "hello there") {
									b.Errorf("got %s", answer)
								}
							}
						})
					}
					all.Wait()
				}
				var times [2][]time.Duration
				for _, p := range servers {
					round(p)
				}
				for b.Loop() {
					for i, p := range servers {
						began := time.Now()
						round(p)
						times[i] = append(times[i], time.Since(began))
					}
				}
				ratio(b, times[0], times[1], clients*each)
			})
		}
	}
}
