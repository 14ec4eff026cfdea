package config

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Traces is where spans are sent, and which. The zero value: nothing is traced.
type Traces struct {
	To          string  // base URL of the collector, without a slash at its end
	HeadersFile string  // absolute path of the file with headers for the collector, which are secrets; empty: there are none
	Sample      float64 // the part of the traces that begin at this server that is sent, from 0 to 1
}

const (
	keyOTLP          = "otlp"
	keyHeadersFile   = "otlp_headers_file"
	keySample        = "otlp_sample"
	auditHeadersFile = "audit." + keyHeadersFile
	otlpRemedy       = `write the base URL of a collector, such as "http://127.0.0.1:4318" or "https://collector.example.com"`
	otlpPath         = "/v1/traces"
	maxOTLP          = 1024 // bytes
)

// readTraces reads the keys of traces. Its problems do not show the URL, since a user may have written a token into it.
func readTraces(t *tomlfile.Table) Traces {
	read := Traces{To: strings.TrimRight(t.String(keyOTLP), "/"), HeadersFile: t.String(keyHeadersFile), Sample: 1}
	if t.Has(keySample) {
		read.Sample = t.Number(keySample)
	}
	if what, remedy := checkOTLP(t.String(keyOTLP)); what != "" && t.Has(keyOTLP) {
		t.Fault(keyOTLP, what, remedy)
		return Traces{}
	}
	if t.Has(keyHeadersFile) && read.HeadersFile == "" {
		t.Fault(keyHeadersFile, "is empty", absoluteRemedy)
	}
	if !(read.Sample >= 0 && read.Sample <= 1) { // so that NaN is refused
		t.Fault(keySample, "is not from 0 to 1", "write the part of the traces that is sent: 0.1 is a tenth")
		return Traces{}
	}
	if t.Has(keyOTLP) {
		return read
	}
	for _, key := range []string{keyHeadersFile, keySample} {
		if t.Has(key) {
			t.Fault(key, "has no effect without otlp", "write otlp, the URL of a collector, too, or remove "+key)
		}
	}
	return Traces{}
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

// TracesTo returns where spans are sent, and which. a may be nil.
func (a *Audit) TracesTo() Traces {
	if a == nil {
		return Traces{}
	}
	return a.Traces
}

// String describes t without the path of the URL, which may be a secret; empty if nothing is traced.
func (t Traces) String() string {
	if t == (Traces{}) {
		return ""
	}
	text := ""
	if u, err := url.Parse(t.To); err == nil {
		if o, err := origin.Of(u); err == nil {
			text = o.String()
		}
	}
	if t.HeadersFile != "" {
		text += " with the headers in " + t.HeadersFile
	}
	if t.Sample < 1 {
		text += fmt.Sprintf(" (%.4g %% of those that begin here)", t.Sample*100)
	}
	return text
}
