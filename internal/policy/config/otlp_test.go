package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

func TestCollectorAddress(t *testing.T) {
	for value, c := range map[string]struct{ want, problem string }{
		"http://127.0.0.1:4318":                {"http://127.0.0.1:4318", ""},
		"http://localhost:4318/":               {"http://localhost:4318", ""},
		"http://[::1]:4318":                    {"http://[::1]:4318", ""},
		"https://collector.example.com":        {"https://collector.example.com", ""},
		"https://example.com/otlp/":            {"https://example.com/otlp", ""},
		"http://collector.example.com":         {"", "loopback interface only"},
		"http://192.0.2.1:4318":                {"", "loopback interface only"},
		"grpc://127.0.0.1:4317":                {"", "loopback interface only"},
		"127.0.0.1:4318":                       {"", "is not the URL"},
		"https://u:secret@example.com":         {"", "has a user"},
		"https://example.com/?key=secret":      {"", "has a user, a query"},
		"https://example.com/#secret":          {"", "or a fragment"},
		"https://example.com/v1/traces/":       {"", "which is added"},
		"https://${env:HOST}/":                 {"", "is not the URL"},
		"":                                     {"", "is not the URL"},
		"https://" + strings.Repeat("a", 2000): {"", "is not the URL"},
	} {
		doc, _ := tomlfile.Parse("c.toml", fmt.Appendf(nil, "[audit]\notlp = %q\n", value))
		got, problems := readOTLP(doc.Root().Table("audit")), doc.Problems()
		if got != c.want || c.problem == "" && len(problems) > 0 {
			t.Errorf("%.50s: got %q, %v", value, got, problems)
		}
		if c.problem != "" && (len(problems) != 1 || !strings.Contains(problems[0].What, c.problem) || problems[0].Remedy == "" || strings.Contains(problems[0].What, "secret")) {
			t.Errorf("%.50s: %v, want %s", value, problems, c.problem)
		}
	}
}

// TestTracesDoNotReopenAuditLog compares tables that differ in otlp only.
func TestTracesDoNotReopenAuditLog(t *testing.T) {
	a, b := &Audit{File: "/a", OTLP: "http://127.0.0.1:1"}, &Audit{File: "/a"}
	if !a.SameLog(b) || a.Equal(b) || b.TracesTo() != "" || (*Audit)(nil).TracesTo() != "" {
		t.Error("traces are part of the log, or of no comparison")
	}
}
