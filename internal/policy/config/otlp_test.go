package config

import (
	"fmt"
	"path/filepath"
	"slices"
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
		got, problems := readTraces(doc.Root().Table("audit")).To, doc.Problems()
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
	a, b := &Audit{File: "/a", Traces: Traces{To: "http://127.0.0.1:1"}}, &Audit{File: "/a"}
	if !a.SameLog(b) || a.Equal(b) || b.TracesTo() != (Traces{}) || (*Audit)(nil).TracesTo() != (Traces{}) {
		t.Error("traces are part of the log, or of no comparison")
	}
}

// TestKeysOfTraces reads the keys beside the URL of the collector, and compares what is shown of them.
func TestKeysOfTraces(t *testing.T) {
	const to = "otlp = 'https://collector.example:4318/secret/'\n"
	file := filepath.Join(t.TempDir(), "headers")
	for text, c := range map[string]struct{ shown, problem string }{
		"":                         {"", ""},
		to:                         {"https://collector.example:4318", ""},
		to + "otlp_sample = 1":     {"https://collector.example:4318", ""},
		to + "otlp_sample = 0.125": {"https://collector.example:4318 (12.5 % of those that begin here)", ""},
		to + "otlp_sample = 0":     {"https://collector.example:4318 (0 % of those that begin here)", ""},
		to + "otlp_headers_file = '" + file + "'\notlp_sample = 0.5": {"https://collector.example:4318 with the headers in " + file + " (50 % of those that begin here)", ""},
		to + "otlp_headers_file = '${env:HERE}/h'":                   {"https://collector.example:4318 with the headers in ${env:HERE}/h", ""},
		to + "otlp_headers_file = 'Bearer secret'":                   {"", "audit.otlp_headers_file: is not absolute"},
		to + "otlp_headers_file = ''":                                {"", "audit.otlp_headers_file: is empty"},
		to + "otlp_sample = 1.5":                                     {"", "audit.otlp_sample: is not from 0 to 1"},
		to + "otlp_sample = -1":                                      {"", "audit.otlp_sample: is not from 0 to 1"},
		to + "otlp_sample = nan":                                     {"", "audit.otlp_sample: is not from 0 to 1"},
		to + "otlp_sample = '10%'":                                   {"", "audit.otlp_sample: is a string, not a number"},
		"otlp_sample = 0.5":                                          {"", "audit.otlp_sample: has no effect without otlp"},
		"otlp_headers_file = '" + file + "'":                         {"", "audit.otlp_headers_file: has no effect without otlp"},
	} {
		c1, problems := Parse("c.toml", []byte("[audit]\nfile = '"+file+"'\n"+text))
		found := ""
		for _, p := range problems {
			found += p.Key + ": " + p.What + "\n"
		}
		if c.problem != "" {
			if !strings.Contains(found, c.problem) || strings.Contains(found, "secret") {
				t.Errorf("%s: problems %s", text, found)
			}
			continue
		}
		if got := c1.Audit.TracesTo().String(); got != c.shown || found != "" {
			t.Errorf("%s: got %q, %s", text, got, found)
		}
	}
}

// TestHeadersFileIsExpanded replaces a variable in the path.
func TestHeadersFileIsExpanded(t *testing.T) {
	dir := t.TempDir()
	c, problems := Parse("c.toml", []byte("[audit]\nfile = '"+filepath.Join(dir, "log")+"'\notlp = 'http://127.0.0.1:1'\notlp_headers_file = '${env:HERE}/h'\n"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{"": "c.toml:4: audit.otlp_headers_file", dir: ""} {
		copied := *c
		audit := *c.Audit
		copied.Audit, copied.References = &audit, slices.Clone(c.References)
		found := ""
		for _, p := range Expand(&copied, func(string) (string, bool) { return value, value != "" }) {
			found += fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Key)
		}
		if found != want || want == "" && audit.Traces.HeadersFile != filepath.Join(dir, "h") {
			t.Errorf("%q: %q, %q", value, audit.Traces.HeadersFile, found)
		}
	}
}
