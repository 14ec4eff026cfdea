//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// installed returns the path of a program of Prometheus, or skips the test.
func installed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed (Debian: prometheus)", program)
	}
	return path
}

// TestPromtoolAcceptsMetricsAndRules has promtool check a page of metrics, and check and test the alert rules.
func TestPromtoolAcceptsMetricsAndRules(t *testing.T) {
	t.Parallel()
	promtool := installed(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "../docs/deploy/prometheus-rules.yml"}, {"test", "rules", "../docs/deploy/prometheus-rules_test.yml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(serveMeasured(t).read())
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 { // it prints what it finds fault with
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// prometheus is a Prometheus that scrapes a server.
type prometheus struct {
	t   *testing.T
	url string
}

// startPrometheus starts a Prometheus that scrapes m every second, as docs/observing.md says, with the alert rules.
func startPrometheus(t *testing.T, m *measured) *prometheus {
	t.Helper()
	dir := newDir(t, map[string]string{"token": m.token})
	rules, err := filepath.Abs("../docs/deploy/prometheus-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(m.page)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "prometheus.yml"), fmt.Sprintf(`global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [%q]
scrape_configs:
  - job_name: bulkhead
    authorization: { credentials_file: %q }
    static_configs: [{ targets: [%q] }]
`, rules, filepath.Join(dir, "token"), target.Host))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	cmd := exec.Command(installed(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	log := &logBuffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return &prometheus{t, "http://" + address}
}

// get decodes the data of a response of Prometheus, and reports whether there is one.
func (p *prometheus) get(path string, data any) bool {
	p.t.Helper()
	answer, err := http.Get(p.url + path)
	if err != nil {
		return false // it starts
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	var got struct {
		Status, Error string
		Data          json.RawMessage
	}
	if json.Unmarshal(body, &got) != nil {
		return false // it starts
	}
	if got.Status != "success" {
		p.t.Fatalf("%s: %s", path, got.Error)
	}
	if err := json.Unmarshal(got.Data, data); err != nil {
		p.t.Fatal(err)
	}
	return true
}

// query returns the value of an expression that has one; empty if it has none yet.
func (p *prometheus) query(expression string) string {
	p.t.Helper()
	var data struct{ Result []struct{ Value []any } }
	if !p.get("/api/v1/query?query="+url.QueryEscape(expression), &data) || len(data.Result) != 1 {
		return ""
	}
	return data.Result[0].Value[1].(string)
}

// await waits until an expression has a value.
func (p *prometheus) await(expression, want string) {
	p.t.Helper()
	got := ""
	for range 600 {
		if got = p.query(expression); got == want {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Errorf("%s is %q, want %q", expression, got, want)
}

// TestPrometheusScrapes has Prometheus scrape a server, and queries what the clients of the server have done. All expressions of the dashboard and
// the rules are evaluated.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	installed(t, "prometheus")
	m := serveMeasured(t)
	p := startPrometheus(t, m)
	for expression, want := range map[string]string{
		`up{job="bulkhead"}`: "1",
		`sum(bulkhead_calls_total{plugin="hello",tool="hello_greet",outcome="ok"})`:                                 "3",
		`sum(bulkhead_call_failures_total{plugin="hello",code="input_too_large"})`:                                  "2",
		`sum(bulkhead_limits_hit_total{plugin="hello",limit="input_too_large"})`:                                    "2",
		`sum(bulkhead_refused_total{code="unknown"})`:                                                               "1",
		`sum(bulkhead_client_calls_total{client="users"})`:                                                          "5",
		`sum(mcp_server_operation_duration_seconds_count{gen_ai_tool_name="hello_greet",error_type=""})`:            "3",
		`sum(mcp_server_operation_duration_seconds_bucket{gen_ai_tool_name="hello_greet",error_type="",le="+Inf"})`: "3",
		`count(bulkhead_plugin_info == 1)`:                                                                          "2",
		`sum(bulkhead_workers{plugin="hello"})`:                                                                     "1",
		`sum(bulkhead_queue_calls)`:                                                                                 "0",
		`count(bulkhead_policy_info{digest=~"[0-9a-f]{64}"})`:                                                       "1",
		`sum(bulkhead_memory_budget_bytes >= bulkhead_memory_credit_bytes) > bool 0`:                                "1",
	} {
		p.await(expression, want)
	}
	for _, expression := range dashboardQueries(t) {
		var data struct{ ResultType string }
		if !p.get("/api/v1/query?query="+url.QueryEscape(expression), &data) || data.ResultType != "vector" {
			t.Errorf("%s: %s", expression, data.ResultType)
		}
	}
	type rule struct{ Name, Health, LastError, State string }
	for range 600 {
		var data struct{ Groups []struct{ Rules []rule } }
		if p.get("/api/v1/rules", &data) && len(data.Groups) == 1 && len(data.Groups[0].Rules) > 0 && data.Groups[0].Rules[0].Health != "unknown" {
			for _, r := range data.Groups[0].Rules {
				if r.Health != "ok" || r.State == "firing" {
					t.Errorf("rule %s: %+v", r.Name, r)
				}
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the rules were not evaluated")
}
