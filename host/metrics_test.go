//go:build unix

package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// readMetrics requests the metrics of a server with a token; empty: with none.
func readMetrics(t testing.TB, url, token string, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// metricsTables are the tables of [audit] and [[clients]] of TestMetricsAreForTheirReaders.
const metricsTables = `
[[clients]]
name = 'prometheus'
match = { tokens = ['prometheus'] }
plugins = []
metrics = true
[[clients]]
name = 'ops'
match = { tokens = ['ops-*'] }
plugins = ['calm']
`

// TestMetricsAreForTheirReaders requests the metrics of a server as each kind of client. Only a table with metrics = true gives them, and
// neither arguments nor names that a client makes up are in them.
func TestMetricsAreForTheirReaders(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	s := serveTeam(t, metricsTables+"[audit]\nfile = '"+log+"'\non_failure = 'closed'\nmetrics = 'http'\n", nil, "prometheus", "ops-a", "root")
	for _, tool := range []string{"calm_reads", "calm_writes", "loud_reads", "a-name-of-the-client"} {
		callTool(t, s.url, s.tokens["ops-a"], tool)
	}
	callTool(t, s.url, "wrong-token-of-some-length", "calm_reads")
	page := strings.TrimSuffix(s.url, "/mcp") + "/metrics"
	for name, c := range map[string]struct {
		token  string
		header []string
		want   int
	}{
		"no token":                 {want: http.StatusUnauthorized},
		"a wrong token":            {token: "wrong-token-of-some-length", want: http.StatusUnauthorized},
		"a table without metrics":  {token: s.tokens["ops-a"], want: http.StatusForbidden},
		"another table without":    {token: s.tokens["root"], want: http.StatusForbidden},
		"the reader, of a browser": {token: s.tokens["prometheus"], header: []string{"Origin", "https://evil.example"}, want: http.StatusForbidden},
		"the reader, rebound":      {token: s.tokens["prometheus"], header: []string{"Host", "evil.example"}, want: http.StatusForbidden},
	} {
		status, body := readMetrics(t, page, c.token, c.header...)
		if status != c.want || strings.Contains(body, "bulkhead_") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	records, err := os.ReadFile(log)
	if refused := strings.Count(string(records), `"code":"http_metrics"`); err != nil || refused != 2 {
		t.Errorf("%d clients were refused the metrics by the audit log, %v", refused, err)
	}
	status, body := readMetrics(t, page, s.tokens["prometheus"]) // the first one that is answered, since a page is kept for a second
	if status != http.StatusOK {
		t.Errorf("the reader: %d", status)
	}
	for _, want := range []string{
		`bulkhead_calls_total{plugin="calm",tool="calm_reads",method="tools/call",outcome="ok"} 1`,
		`bulkhead_client_calls_total{client="ops",outcome="ok"} 2`,
		`mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="calm_reads",error_type=""} 1`,
		`bulkhead_queue_wait_seconds_count{plugin="calm"} 2`,
		`bulkhead_worker_start_seconds_count{plugin="calm"} 1`,
		`bulkhead_workers{plugin="calm"} 1`,
		`bulkhead_http_refused_total{reason="http_token"} `,
		`bulkhead_http_responses_total{status="401"} `,
		`bulkhead_queue_slots{plugin="calm"} `,
		`bulkhead_audit_lost_records_total{log="file"} 0`,
		`bulkhead_build_info{version=`,
		`bulkhead_policy_info{digest="`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics lack %s:\n%s", want, body)
		}
	}
	for _, never := range []string{"a-name-of-the-client", "ops-a", s.Dir, s.tokens["prometheus"]} {
		if strings.Contains(body, never) {
			t.Errorf("the metrics contain %s:\n%s", never, body)
		}
	}
	if status, body := callTool(t, s.url, s.tokens["prometheus"], "calm_reads"); strings.Contains(body, `"done"`) {
		t.Errorf("the reader of metrics calls a tool: %d %s", status, body)
	}
}

// TestMetricsAreOffByDefault requests the metrics of a server whose config has none, also as a client whose table would allow it.
func TestMetricsAreOffByDefault(t *testing.T) {
	audit := "[audit]\nfile = '" + filepath.Join(t.TempDir(), "audit.jsonl") + "'\n"
	s := serveTeam(t, metricsTables+audit, nil, "prometheus")
	page := strings.TrimSuffix(s.url, "/mcp")
	for _, token := range []string{"", s.tokens["prometheus"]} {
		if status, body := readMetrics(t, page+"/metrics", token); status != http.StatusNotFound || !strings.Contains(body, `metrics = \"http\" in [audit]`) {
			t.Errorf("%d %s", status, body)
		}
	}
}

// TestReloadChangesReadersOfMetrics offers metrics over HTTP, takes the right to read them from a client, and offers none any more, while a server runs.
func TestReloadChangesReadersOfMetrics(t *testing.T) {
	audit := "[audit]\nfile = '" + filepath.Join(t.TempDir(), "audit.jsonl") + "'\n"
	s := serveTeam(t, metricsTables+audit, nil, "prometheus")
	config, err := os.ReadFile(filepath.Join(s.Dir, "work", "bulkhead.toml"))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.TrimSuffix(s.url, "/mcp") + "/metrics"
	offered := strings.Replace(string(config), audit, audit+"metrics = 'http'\n", 1)
	for _, step := range []struct {
		name, config string
		want         int
	}{
		{"offered", offered, http.StatusOK},
		{"without the right", strings.Replace(offered, "metrics = true", "metrics = false", 1), http.StatusForbidden},
		{"with the right again", offered, http.StatusOK},
		{"not offered", string(config), http.StatusNotFound},
	} {
		s.Write(t, hosttest.Files{"work/bulkhead.toml": step.config})
		s.Trust(t, "work/bulkhead.toml")
		if err := s.host.Reload(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		callTool(t, s.url, s.tokens["prometheus"], "calm_reads") // it is refused
		if status, body := readMetrics(t, page, s.tokens["prometheus"]); status != step.want {
			t.Errorf("%s: %d %s", step.name, status, body)
		}
	}
}

// TestReloadMovesMetrics changes metrics in [audit] while a server over stdio runs: from none to a listener, to an address that is in use, to
// a socket, and to none.
func TestReloadMovesMetrics(t *testing.T) {
	free, taken := freeAddress(t), occupied(t)
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
	set := func(metrics string) {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\n%s\n[[plugins]]\npath = '../plugins/a'\n", filepath.Join(w.Dir, "audit.jsonl"), metrics)})
		w.Trust(t, "work/bulkhead.toml")
	}
	set("")
	h := w.Open(t, w.Options())
	end := serveStdio(t, h)
	answers := func(address string) bool {
		conn, err := net.Dial(network(address), strings.TrimPrefix(address, "unix:"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	dir, err := os.MkdirTemp("", "m") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := "unix:" + filepath.Join(dir, "s")
	for _, step := range []struct {
		metrics      string
		open, closed string
	}{
		{metrics: free, open: free},
		{metrics: taken, closed: free},
		{metrics: socket, open: socket, closed: free},
		{metrics: "", closed: socket},
		{metrics: "http", closed: free},
	} {
		set(map[bool]string{true: fmt.Sprintf("metrics = %q", step.metrics)}[step.metrics != ""])
		if err := h.Reload(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.metrics, err)
		}
		if step.open != "" && !answers(step.open) || step.closed != "" && answers(step.closed) {
			t.Errorf("metrics = %q: %q should be open, %q closed", step.metrics, step.open, step.closed)
		}
	}
	end()
}

// TestServeHTTPNeedsListenerOfMetrics starts a server over HTTP whose address for metrics is in use.
func TestServeHTTPNeedsListenerOfMetrics(t *testing.T) {
	taken := occupied(t)
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\nmetrics = %q\n[[plugins]]\npath = '../plugins/a'\n", filepath.Join(w.Dir, "audit.jsonl"), taken)})
	h := w.Open(t, w.Options())
	hosttest.WantUsage(t, h.ServeHTTP(t.Context(), host.HTTPOptions{Address: "127.0.0.1:0"}), taken, "address already in use", "remedy")
}

// TestServeGoesOnWithoutListenerOfMetrics serves over stdio while the address for metrics is in use, as by another client's server.
func TestServeGoesOnWithoutListenerOfMetrics(t *testing.T) {
	taken := occupied(t)
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\nmetrics = %q\n[[plugins]]\npath = '../plugins/a'\n", filepath.Join(w.Dir, "audit.jsonl"), taken)})
	var log, out bytes.Buffer
	o := w.Options()
	o.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
	h := w.Open(t, o)
	if err := h.Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_reads"}}`+"\n"), &out); err != nil || !strings.Contains(out.String(), "result") && !strings.Contains(out.String(), "error") {
		t.Errorf("%v: %s", err, out.String())
	}
	if !strings.Contains(log.String(), "cannot listen on "+taken) || !strings.Contains(log.String(), "remedy") {
		t.Errorf("the log is %s", log.String())
	}
}

// TestReloadOffersMetricsAfterBusyAddress serves over stdio while the address for metrics is in use. A change of another key is applied, and so is one of
// the address.
func TestReloadOffersMetricsAfterBusyAddress(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
	set := func(address, more string) {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\nmetrics = %q\n%s\n[[plugins]]\npath = '../plugins/a'\n", filepath.Join(w.Dir, "audit.jsonl"), address, more)})
		w.Trust(t, "work/bulkhead.toml")
	}
	taken, free := occupied(t), freeAddress(t)
	set(taken, "")
	h := w.Open(t, w.Options())
	end := serveStdio(t, h)
	for _, step := range []struct {
		address, more string
		measures      bool
	}{{taken, "keep = 6", false}, {free, "keep = 6", true}} {
		set(step.address, step.more)
		if err := h.Reload(t.Context()); err != nil || host.Measures(h) != step.measures {
			t.Errorf("%s: %v, and it measures: %t", step.address, err, host.Measures(h))
		}
	}
	if conn, err := net.Dial("tcp", free); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	end()
}

// TestReloadNarrowsWhileMetricsAddressIsInUse withholds a tool by a change that also names an address for metrics that is in use: it applies, so that
// the tool is withheld. Once the address is free, the next change offers metrics there.
func TestReloadNarrowsWhileMetricsAddressIsInUse(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")+hosttest.Reads("a_more")))
		set := func(address, more string) {
			w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\nmetrics = %q\n[[plugins]]\npath = '../plugins/a'\n%s\n", filepath.Join(w.Dir, "audit.jsonl"), address, more)})
			w.Trust(t, "work/bulkhead.toml")
		}
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		set(freeAddress(t), "")
		var log bytes.Buffer
		o := w.Options()
		o.Log = hclog.New(&hclog.LoggerOptions{Output: &log, Mutex: &sync.Mutex{}})
		h := w.Open(t, o)
		var end func()
		if transport == "stdio" {
			end = serveStdio(t, h)
		} else {
			_, ended := serveHTTP(t, h, host.HTTPOptions{Address: "127.0.0.1:0"})
			end = func() { _ = ended() }
		}
		set(busy.Addr().String(), "deny_tools = ['a_reads']")
		if err := h.Reload(t.Context()); err != nil {
			t.Errorf("%s: %v", transport, err)
		}
		if _, offered := h.Tool("a_reads"); offered || host.Measures(h) {
			t.Errorf("%s: the denied tool is offered: %t; it measures: %t", transport, offered, host.Measures(h))
		}
		_ = busy.Close()
		set(busy.Addr().String(), "deny_tools = ['a_reads', 'a_more']")
		if err := h.Reload(t.Context()); err != nil || !host.Measures(h) {
			t.Errorf("%s: %v, and it measures: %t", transport, err, host.Measures(h))
		}
		end()
		if n := strings.Count(log.String(), "cannot listen on "+busy.Addr().String()); n != 1 {
			t.Errorf("%s: the busy address is logged %d times: %s", transport, n, log.String())
		}
	}
}

// serveStdio has a client of h that waits until end is called.
func serveStdio(t *testing.T, h *host.Host) (end func()) {
	t.Helper()
	in, client := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.Serve(t.Context(), in, io.Discard) }()
	if _, err := client.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")); err != nil { // returns when Serve reads
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		_ = client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestMetricsOverHTTPEndWithServer serves over HTTP, which ends, while a client on stdio is served: nothing can read the metrics any more, so that nothing is
// counted, also not by a change that a reload has prepared before. Meanwhile clients begin and end, and metrics are read.
func TestMetricsOverHTTPEndWithServer(t *testing.T) {
	s := serveTeam(t, metricsTables+"[audit]\nfile = '"+filepath.Join(t.TempDir(), "audit.jsonl")+"'\nmetrics = 'http'\n", nil, "prometheus")
	page := strings.TrimSuffix(s.url, "/mcp") + "/metrics"
	var clients sync.WaitGroup
	clients.Go(func() {
		for range 20 {
			serveStdio(t, s.host)()
		}
	})
	for range 20 {
		if status, _ := readMetrics(t, page, s.tokens["prometheus"]); status != http.StatusOK {
			t.Fatal(status)
		}
	}
	clients.Wait()
	end := serveStdio(t, s.host)
	if !host.Measures(s.host) {
		t.Error("nothing is measured")
	}
	commit := host.PrepareMetrics(s.host)
	if err := s.end(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.end = func() error { return nil }
	if host.Measures(s.host) {
		t.Error("it is measured what nothing can read")
	}
	if commit(); host.Measures(s.host) {
		t.Error("a prepared change measures what nothing can read")
	}
	end()
}

func network(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return "unix"
	}
	return "tcp"
}

// occupied returns an address on which the test listens.
func occupied(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// freeAddress returns an address at which no server listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
