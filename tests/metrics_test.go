//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// measured is a server over HTTP that offers metrics, with some calls behind it.
type measured struct {
	*server
	page, token string // URL of the metrics, and the token of their reader
}

// serveMeasured starts a server, and has clients make calls: three that succeed, two that a limit ends, and one of a tool that is not
// granted.
func serveMeasured(t *testing.T) *measured {
	t.Helper()
	dir, env := newDir(t, nil), environment(t)
	config := filepath.Join(dir, "bulkhead.toml")
	putFile(t, config, fmt.Sprintf(`[http]
tokens = true
[audit]
file = %q
metrics = "http"
[[clients]]
name = "prometheus"
match = { tokens = ["prometheus"] }
plugins = []
metrics = true
[[clients]]
name = "users"
match = { auth = "any" }
[[plugins]]
path = %q
limits = { input = "1KiB" }
[[plugins]]
path = %q
`, filepath.Join(dir, "audit.jsonl"), filepath.Join(built.plugins(t), "hello"), filepath.Join(built.plugins(t), "filesystem")))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(built.program(t), append(args, "--config", config)...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	tokens := map[string]string{}
	for _, name := range []string{"prometheus", "user"} {
		out, err := command("token", "new", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = strings.TrimSpace(string(out))
	}
	s := startServer(t, command("serve", "--http", "127.0.0.1:0"))
	url := httpURL(t, s)
	for i, arguments := range []string{`{"name":"Ada"}`, `{"name":"Bob"}`, `{"name":"Eve"}`, fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", 2000)), fmt.Sprintf(`{"name":%q}`, strings.Repeat("y", 2000)), `{}`} {
		r := startCall(t, http.DefaultClient, url, []string{"hello_greet", "made_up_by_a_client"}[i/5], arguments, "Bearer "+tokens["user"])
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || strings.Contains(string(body), `"isError":true`) == (i < 3) && i != 5 {
			t.Fatalf("call %d: %v %s", i, err, body)
		}
	}
	return &measured{s, strings.TrimSuffix(url, "/mcp") + "/metrics", tokens["prometheus"]}
}

// read returns the metrics.
func (m *measured) read() string {
	m.t.Helper()
	r, err := http.NewRequest(http.MethodGet, m.page, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+m.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		m.t.Fatalf("%s %v: %s", answer.Status, err, body)
	}
	return string(body)
}

// dashboardVariables are the values of the variables of the dashboard, for queries of all servers and plugins.
var dashboardVariables = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$plugin", ".*")

// dashboardQueries returns the expressions of docs/deploy/grafana-dashboard.json, without variables.
func dashboardQueries(t *testing.T) (all []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			GridPos struct{ X, Y, W, H int }
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(readFile(t, "../docs/deploy/grafana-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for i, p := range dashboard.Panels {
		for _, other := range dashboard.Panels[:i] {
			a, b := p.GridPos, other.GridPos
			if p.Title == other.Title || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("the panels %q and %q overlap, or have one title", p.Title, other.Title)
			}
		}
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, dashboardVariables.Replace(target.Expr))
		}
	}
	return all
}

// ruleQueries returns the lines of docs/deploy/prometheus-rules.yml that have expressions.
func ruleQueries(t *testing.T) (all []string) {
	t.Helper()
	for line := range strings.Lines(readFile(t, "../docs/deploy/prometheus-rules.yml")) {
		if strings.Contains(line, "bulkhead_") && !strings.Contains(line, "description:") {
			all = append(all, line)
		}
	}
	return all
}

// TestDashboardAndRulesNameMetrics compares the names of metrics and labels in the dashboard, the rules and the documentation with those of a
// server.
func TestDashboardAndRulesNameMetrics(t *testing.T) {
	t.Parallel()
	page := serveMeasured(t).read()
	labels := map[string][]string{} // by name of the metric
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) `).FindAllStringSubmatch(page, -1) {
		labels[m[1]] = []string{"instance", "job", "le"} // those that Prometheus adds
	}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)\{(.*)\} `).FindAllStringSubmatch(page, -1) {
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			labels[familyOf(m[1])] = append(labels[familyOf(m[1])], l[1])
		}
	}
	queries := append(dashboardQueries(t), ruleQueries(t)...)
	if len(labels) < 30 || len(queries) < 40 {
		t.Fatalf("found %d metrics and %d queries", len(labels), len(queries))
	}
	name := regexp.MustCompile(`\b(?:bulkhead|mcp_server|go)_\w+`)
	used := map[string]bool{ // those that are for looking at one server
		"bulkhead_http_draining": true, "bulkhead_http_kept_message_bytes": true, "bulkhead_quota_principals": true, "bulkhead_tasks_begun_total": true, "go_goroutines": true,
	}
	for _, query := range queries {
		var known []string
		empty := false
		for _, metric := range name.FindAllString(query, -1) {
			if labels[familyOf(metric)] == nil {
				t.Errorf("there is no metric %s: %s", metric, query)
			}
			used[familyOf(metric)] = true
			known = append(known, labels[familyOf(metric)]...)
			empty = empty || !strings.Contains(page, "\n"+metric+"{")
		}
		for _, m := range regexp.MustCompile(`(?:by|on|group_left) \(([^)]*)\)|[{,](\w+)[!=]`).FindAllStringSubmatch(query, -1) {
			for label := range strings.SplitSeq(m[1]+m[2], ",") {
				if label = strings.TrimSpace(label); !empty && !slices.Contains(known, label) {
					t.Errorf("no metric has the label %s: %s", label, query)
				}
			}
		}
	}
	documented := map[string]bool{}
	_, text, _ := strings.Cut(readFile(t, "../docs/observing.md"), "\n## Metrics\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, metric := range name.FindAllString(strings.ReplaceAll(text, "`_", "`bulkhead_http_"), -1) {
		documented[familyOf(metric)] = true
	}
	for metric := range maps.Keys(labels) {
		if !used[metric] {
			t.Errorf("neither the dashboard nor a rule has %s", metric)
		}
		if !documented[metric] {
			t.Errorf("docs/observing.md does not describe %s", metric)
		}
	}
	for metric := range documented {
		if labels[metric] == nil {
			t.Errorf("docs/observing.md describes %s, which no server has", metric)
		}
	}
	if strings.Contains(page, "made_up_by_a_client") {
		t.Error("a name that a client made up is a label")
	}
}

// familyOf returns the name of the metric that a series belongs to.
func familyOf(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && strings.HasSuffix(base, "_seconds") {
			return base
		}
	}
	return name
}
