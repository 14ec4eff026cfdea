package config

import (
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

const (
	keyOTLP    = "otlp"
	otlpRemedy = `write the base URL of a collector, such as "http://127.0.0.1:4318" or "https://collector.example.com"`
	otlpPath   = "/v1/traces"
	maxOTLP    = 1024 // bytes
)

// readOTLP reads the key otlp. Its problems do not show the value, since a user may have written a token into it.
func readOTLP(t *tomlfile.Table) string {
	value := t.String(keyOTLP)
	if !t.Has(keyOTLP) {
		return ""
	}
	what, remedy := checkOTLP(value)
	if what != "" {
		t.Fault(keyOTLP, what, remedy)
		return ""
	}
	return strings.TrimRight(value, "/")
}

func checkOTLP(value string) (what, remedy string) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || len(value) > maxOTLP || hasReference(value):
		return "is not the URL of a collector", otlpRemedy
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "has a user, a query or a fragment", otlpRemedy
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), otlpPath):
		return "ends with " + otlpPath + ", which is added", otlpRemedy
	}
	if _, err := download.Origin(u); err != nil {
		return "cannot be used: collectors are reached by https, and by http on the loopback interface only", otlpRemedy
	}
	return "", ""
}

// TracesTo returns the base URL of the collector that traces are sent to; empty: nothing is traced. a may be nil.
func (a *Audit) TracesTo() string {
	if a == nil {
		return ""
	}
	return a.OTLP
}
