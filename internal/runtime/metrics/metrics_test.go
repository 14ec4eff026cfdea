package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// TestSeriesAreBounded counts calls of far more tools, plugins and clients than a family keeps. Their number is right nevertheless.
func TestSeriesAreBounded(t *testing.T) {
	m := New()
	const calls = 5000
	for i := range calls {
		r := &audit.Record{Kind: audit.KindCall, Plugin: fmt.Sprint("p", i), Tool: fmt.Sprint("t", i), Method: "tools/call", Outcome: audit.Failed, Code: fmt.Sprint("c", i)}
		m.Record(r, fmt.Sprint("client", i), &call.Times{Queued: time.Unix(1, 0), Started: time.Unix(2, 0)})
		m.Operation(r)
	}
	for _, f := range m.families {
		all := f.snapshot()
		if len(all) > maxSeries+maxOthers+1 {
			t.Errorf("%s has %d series", f.name, len(all))
		}
		sum := 0.0
		for _, s := range all {
			sum += s.value
		}
		if f == m.calls && sum != calls {
			t.Errorf("%s counts %v of %d calls", f.name, sum, calls)
		}
	}
	if text := string(m.encode()); !strings.Contains(text, `bulkhead_calls_total{plugin="other",tool="other",method="tools/call",outcome="failed"} 4000`) {
		t.Error("the calls beyond the bound are not counted as others")
	}
	m.Retain(func(label, name string) bool { return name == "p7" || name == "t7" || name == "client7" })
	for _, f := range m.families {
		for _, s := range f.snapshot() {
			for i, label := range f.labels {
				if v := s.values[i]; label == Plugin && v != "p7" && v != Other {
					t.Fatalf("%s keeps %s = %q", f.name, label, v)
				}
			}
		}
	}
}

// hostile contains what could end a value, a line or a label.
var hostile = []string{"a\"} 1\nbulkhead_forged{x=\"", `back\slash`, "\\n\n\r\x00", "\xff\xfe", "日本\u2028語", `"`, ""}

func TestNamesCannotForgeLines(t *testing.T) {
	m := New(func(p *Page) {
		for _, name := range hostile {
			p.Gauge("bulkhead_workers", "Help with a \\ and a\nline.", Plugin).Add(1, name)
		}
	})
	for _, name := range hostile {
		r := &audit.Record{Kind: audit.KindCall, Plugin: name, Tool: name, Method: "tools/call", Outcome: audit.OK, Via: name}
		m.Record(r, name, nil)
		m.Operation(r)
	}
	for line := range strings.Lines(string(m.encode())) {
		if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "bulkhead_") && !strings.HasPrefix(line, "mcp_server_") || strings.HasPrefix(line, "bulkhead_forged") {
			t.Errorf("a forged line: %q", line)
		}
	}
}

// TestPromtoolReadsHostileNames has the parser of Prometheus read a page with hostile names.
func TestPromtoolReadsHostileNames(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	m := New()
	for _, name := range hostile {
		r := &audit.Record{Kind: audit.KindCall, Plugin: name, Tool: name, Method: "tools/call", Outcome: audit.OK, Via: name, Fuel: 1 << 62, Duration: time.Hour}
		m.Record(r, name, nil)
		m.Operation(r)
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(m.encode())
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRecordCountsWhatHappened(t *testing.T) {
	m := New()
	at := time.Unix(100, 0)
	for _, r := range []audit.Record{
		{Kind: audit.KindCall, Plugin: "p", Tool: "t", Method: "tools/call", Outcome: audit.OK, Duration: 3 * time.Millisecond, Fuel: 7, BytesIn: 1, BytesOut: 2},
		{Kind: audit.KindCall, Plugin: "p", Tool: "t", Method: "tools/call", Outcome: audit.Failed, Code: "timeout", Duration: time.Hour, Fuel: 5, Via: "run_script"},
		{Kind: audit.KindCall, Plugin: "p", Tool: "secret://of-the-client", Method: "resources/read", Outcome: audit.ToolError},
		{Kind: audit.KindCall, Plugin: "p", Tool: "t", Method: "tools/call", Outcome: audit.Denied, Code: "approval_declined"},
		{Kind: audit.KindRefused, Plugin: "p", Code: "not_granted", Tool: "made-up"},
		{Kind: audit.KindRefused, Code: "http_token", Reason: "of HTTP"},
		{Kind: audit.KindPolicy, Outcome: audit.Denied},
		{Kind: audit.KindTokens}, {Kind: audit.KindTask, Plugin: "p"},
	} {
		m.Record(&r, "ops", &call.Times{Queued: at, Started: at.Add(20 * time.Millisecond)})
		if r.Kind == audit.KindCall {
			m.Operation(&r)
		}
	}
	m.Record(&audit.Record{Kind: audit.KindCall, Plugin: "waited", Time: at, Duration: 31 * time.Second, Outcome: audit.Failed, Code: "busy"}, "", &call.Times{Queued: at.Add(time.Second)})
	text := string(m.encode())
	for _, want := range []string{
		`bulkhead_calls_total{plugin="p",tool="t",method="tools/call",outcome="ok"} 1`,
		`bulkhead_calls_total{plugin="p",tool="",method="resources/read",outcome="tool_error"} 1`,
		`bulkhead_call_failures_total{plugin="p",code="timeout"} 1`, `bulkhead_limits_hit_total{plugin="p",limit="timeout"} 1`,
		`bulkhead_call_failures_total{plugin="p",code="approval_declined"} 1`, `bulkhead_refused_total{plugin="p",code="not_granted"} 1`,
		`bulkhead_fuel_total{plugin="p"} 12`, `bulkhead_client_calls_total{client="ops",outcome="ok"} 1`, `bulkhead_calls_via_total{via="run_script",outcome="failed"} 1`,
		`bulkhead_reloads_total{outcome="denied"} 1`, `bulkhead_token_changes_total 1`, `bulkhead_tasks_begun_total{plugin="p"} 1`,
		`mcp_server_operation_duration_seconds_bucket{mcp_method_name="tools/call",gen_ai_tool_name="t",error_type="",le="0.0025"} 0`,
		`mcp_server_operation_duration_seconds_bucket{mcp_method_name="tools/call",gen_ai_tool_name="t",error_type="",le="0.005"} 1`,
		`mcp_server_operation_duration_seconds_bucket{mcp_method_name="tools/call",gen_ai_tool_name="t",error_type="timeout",le="300"} 0`,
		`mcp_server_operation_duration_seconds_bucket{mcp_method_name="tools/call",gen_ai_tool_name="t",error_type="timeout",le="+Inf"} 1`,
		`mcp_server_operation_duration_seconds_sum{mcp_method_name="tools/call",gen_ai_tool_name="t",error_type="timeout"} 3600`,
		`bulkhead_queue_wait_seconds_bucket{plugin="p",le="0.05"} 4`,
		`bulkhead_client_calls_total{client="*",outcome="failed"} 1`,
		`bulkhead_queue_wait_seconds_bucket{plugin="waited",le="10"} 0`, `bulkhead_queue_wait_seconds_bucket{plugin="waited",le="30"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, never := range []string{"of-the-client", "made-up", "http_token"} {
		if strings.Contains(text, never) {
			t.Errorf("the page contains %s", never)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestOwnListenerIsForThisMachine requests the page of a listener as programs and as web pages do, and in parallel.
func TestOwnListenerIsForThisMachine(t *testing.T) {
	encoded := 0
	m := New(func(*Page) { encoded++ })
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Serve(m, hclog.NewNullLogger())
	get := func(method, path string, header map[string]string) (status int, body string) {
		r, err := http.NewRequest(method, "http://"+s.Addr().String()+path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		for name, value := range header {
			if r.Header.Set(name, value); name == "Host" {
				r.Host = value
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	for name, c := range map[string]struct {
		method, path string
		header       map[string]string
		want         int
	}{
		"a program":     {"GET", "/metrics", nil, 200},
		"localhost":     {"GET", "/metrics", map[string]string{"Host": "localhost:9"}, 200},
		"a web page":    {"GET", "/metrics", map[string]string{"Origin": "http://127.0.0.1"}, 403},
		"a rebound one": {"GET", "/metrics", map[string]string{"Host": "evil.example"}, 403},
		"an image":      {"GET", "/metrics", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another path":  {"GET", "/", nil, 404},
		"a POST":        {"POST", "/metrics", nil, 405},
	} {
		if status, body := get(c.method, c.path, c.header); status != c.want || strings.Contains(body, "bulkhead_") != (status == 200) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	var all sync.WaitGroup
	for range 2 * maxConnections {
		all.Go(func() {
			if status, body := get("GET", "/metrics", nil); status != 200 || !strings.HasSuffix(body, "\n") {
				t.Errorf("%d %q", status, body)
			}
		})
	}
	all.Wait()
	if encoded > 60 {
		t.Errorf("the page was encoded %d times", encoded)
	}
	if _, err := Listen(s.Addr().String()); err == nil {
		t.Error("a second listener has the address")
	}
}

// TestIdleConnectionsKeepNobodyOut opens as many connections as a listener has, which send nothing. A further one waits until they end, and is answered then.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Serve(New(), hclog.NewNullLogger())
	if s.server.ReadHeaderTimeout != headerTimeout || s.server.IdleTimeout != headerTimeout || s.server.WriteTimeout != writeTimeout {
		t.Error("connections are not bounded in time")
	}
	var idle []net.Conn
	for range maxConnections {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	late, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, err := io.WriteString(late, "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := late.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := late.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one connection more than the bound is answered (%v)", err)
	}
	for _, conn := range idle {
		_ = conn.Close()
	}
	if err := late.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(late); err != nil || !strings.HasPrefix(string(body), "HTTP/1.0 200 OK\r\n") {
		t.Errorf("%.80q, %v", body, err)
	}
}

// TestCountingAllocatesNothing counts calls whose series exist.
func TestCountingAllocatesNothing(t *testing.T) {
	m, times := New(), &call.Times{Queued: time.Unix(1, 0), Started: time.Unix(2, 0)}
	r := &audit.Record{Kind: audit.KindCall, Plugin: "p", Tool: "t", Method: "tools/call", Outcome: audit.OK, Via: "run_script"}
	count := func() {
		m.Record(r, "ops", times)
		m.Operation(r)
	}
	if n := testing.AllocsPerRun(100, count); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
