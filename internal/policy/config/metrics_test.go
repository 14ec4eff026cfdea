package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

func TestMetricsAddress(t *testing.T) {
	for _, c := range []struct {
		system, value string
		want          Metrics
		problem       string // empty: none
	}{
		{"linux", "http", Metrics{HTTP: true}, ""},
		{"windows", "127.0.0.1:9464", Metrics{Address: "127.0.0.1:9464"}, ""},
		{"linux", "[::1]:9464", Metrics{Address: "[::1]:9464"}, ""},
		{"linux", "[::ffff:127.0.0.1]:9464", Metrics{Address: "[::ffff:127.0.0.1]:9464"}, ""},
		{"linux", "unix:/run/a.sock", Metrics{Address: "unix:/run/a.sock"}, ""},
		{"windows", "unix:/run/a.sock", Metrics{}, "other systems than Windows"},
		{"linux", "unix:a.sock", Metrics{}, "not absolute"},
		{"linux", "unix:/run/../a.sock", Metrics{}, "not absolute and clean"},
		{"linux", "unix:/run/${env:NAME}.sock", Metrics{}, "has variables"},
		{"linux", "unix:/" + strings.Repeat("a", 200), Metrics{}, "longer than 100 bytes"},
		{"linux", "0.0.0.0:9464", Metrics{}, "not a loopback address"},
		{"linux", "[::]:9464", Metrics{}, "not a loopback address"},
		{"linux", "192.0.2.1:9464", Metrics{}, "not a loopback address"},
		{"linux", "localhost:9464", Metrics{}, "not a place"},
		{"linux", ":9464", Metrics{}, "not a place"},
		{"linux", "9464", Metrics{}, "not a place"},
		{"linux", "", Metrics{}, "not a place"},
	} {
		doc, _ := tomlfile.Parse("c.toml", fmt.Appendf(nil, "[audit]\nmetrics = %q\n", c.value))
		got := readMetrics(doc.Root().Table("audit"), c.system)
		problems := doc.Problems()
		if c.problem == "" && (len(problems) > 0 || got != c.want) {
			t.Errorf("%s, %s: %+v, %v", c.system, c.value, got, problems)
		}
		if c.problem != "" && (len(problems) != 1 || !strings.Contains(problems[0].What, c.problem) || problems[0].Remedy == "" || got != (Metrics{})) {
			t.Errorf("%s, %s: got %+v, %v, want %s", c.system, c.value, got, problems, c.problem)
		}
	}
}

// TestMetricsDoNotReopenAuditLog compares tables that differ in metrics only.
func TestMetricsDoNotReopenAuditLog(t *testing.T) {
	a, b := &Audit{File: "/a", Metrics: Metrics{HTTP: true}}, &Audit{File: "/a", Line: 7}
	if !a.SameLog(b) || a.Equal(b) || !a.Equal(&Audit{File: "/a", Line: 9, Metrics: Metrics{HTTP: true}}) || a.SameLog(nil) || (*Audit)(nil).Equal(b) {
		t.Error("metrics are part of the log, or of no comparison")
	}
}

// TestMetricsNeedReaders parses configs whose metrics no client may read, or whose clients may read none.
func TestMetricsNeedReaders(t *testing.T) {
	const reader = "[[clients]]\nname = 'a'\nmatch = { auth = 'any' }\nmetrics = true\n"
	for text, want := range map[string]string{
		"[audit]\nfile = '/a'\nmetrics = 'http'\n": "audit.metrics: no client can read them",
		reader: "clients[0].metrics: has no effect",
		"[audit]\nfile = '/a'\nmetrics = '127.0.0.1:9464'\n" + reader: "clients[0].metrics: has no effect",
		"[audit]\nfile = '/a'\nmetrics = 'http'\n" + reader:           "",
		"[audit]\nfile = '/a'\nmetrics = '127.0.0.1:9464'\n":          "",
	} {
		_, problems := Parse("/c.toml", []byte(text))
		if got := problems.Warnings(); problems.Err() != nil || want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), want)) {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
	clients := Clients{Tables: []Client{
		{Name: "a", Match: Match{Auth: authNone}, Metrics: true}, {Name: "b", Match: Match{Auth: authAny}},
	}, Others: othersAll}
	for id, want := range map[string]bool{"local": true, authBearer: false} {
		if got := clients.MayReadMetrics(&call.Principal{ID: id}); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
	if (&Clients{}).MayReadMetrics(&call.Principal{ID: "local"}) {
		t.Error("a client reads metrics without a table")
	}
}
