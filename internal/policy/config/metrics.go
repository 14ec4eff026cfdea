package config

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Metrics is where the metrics of a server can be read. The zero value: nowhere, and nothing is measured.
type Metrics struct {
	// HTTP is set if they are offered to clients of the HTTP server that a table of [[clients]] allows it.
	HTTP bool
	// Address is the address of a listener of their own: a loopback address with port, or "unix:" with the path of a socket; empty: there is none.
	Address string
}

const (
	metricsHTTP   = "http"
	metricsUnix   = "unix:"
	metricsRemedy = `write "http", a loopback address such as "127.0.0.1:9464", or "unix:/…"`
	maxSocketPath = 100 // bytes; sockets of some systems allow 104
	keyMetrics    = "metrics"
)

// readMetrics reads the key metrics on a system with that GOOS.
func readMetrics(t *tomlfile.Table, system string) (m Metrics) {
	value := t.String(keyMetrics)
	path, isSocket := strings.CutPrefix(value, metricsUnix)
	address, err := netip.ParseAddrPort(value)
	switch {
	case !t.Has(keyMetrics):
	case value == metricsHTTP:
		m.HTTP = true
	case isSocket && system == "windows":
		t.Fault(keyMetrics, "has a socket, which only the user could read on other systems than Windows", "use a loopback address")
	case isSocket && (!filepath.IsAbs(path) || filepath.Clean(path) != path || len(path) > maxSocketPath || hasReference(path)):
		t.Fault(keyMetrics, "has a path that is not absolute and clean, has variables, or is longer than 100 bytes", `write "unix:/run/user/1000/bulkhead-metrics.sock"`)
	case isSocket:
		m.Address = value
	case err != nil:
		t.Fault(keyMetrics, "is not a place at which metrics can be read", metricsRemedy)
	case !address.Addr().Unmap().IsLoopback():
		t.Fault(keyMetrics, "is not a loopback address: every machine that reaches it could read the metrics", `use a loopback address, or "http", where readers need a token`)
	default:
		m.Address = address.String()
	}
	return m
}

// checkReaders warns of metrics that no client can read, and of the right to read metrics that are not there.
func (c *Config) checkReaders(doc *tomlfile.Doc, audit *tomlfile.Table) {
	offered := c.Audit.MetricsAt().HTTP
	if offered && !slices.ContainsFunc(c.Clients.Tables, func(t Client) bool { return t.Metrics }) {
		audit.Warn(keyMetrics, "no client can read them over HTTP", "set metrics = true in the [[clients]] table of those who may")
	}
	for _, t := range c.Clients.Tables {
		if t.Metrics && !offered {
			doc.Add(tomlfile.Problem{File: t.File, Line: lineOf(t.Lines, keyMetrics, t.Line), Key: t.Key + "." + keyMetrics, Warning: true,
				What: "has no effect: this server offers no metrics over HTTP", Remedy: `set metrics = "http" in [audit], or remove it`})
		}
	}
}

// Socket returns the path of the socket of m; empty if it has none.
func (m Metrics) Socket() string {
	path, isSocket := strings.CutPrefix(m.Address, metricsUnix)
	if !isSocket {
		return ""
	}
	return path
}

// String returns m as the config has it.
func (m Metrics) String() string {
	if m.HTTP {
		return metricsHTTP
	}
	return m.Address
}
