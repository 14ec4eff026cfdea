package fetch_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/hashicorp/go-hclog"
)

// TestMain sets a proxy that no test may use. net/http reads these variables once per process.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		if err := os.Setenv(name, "http://proxy.example.com"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// world is a fake internet: it resolves names to addresses, and maps addresses with ports to test servers on loopback.
type world struct {
	mu      sync.Mutex
	names   map[string][]string // addresses for successive lookups of a name; the last one repeats
	servers map[netip.AddrPort]string
	dialled []string
	roots   *x509.CertPool

	log     log
	records []fetch.Record
}

func newWorld() *world {
	return &world{names: map[string][]string{}, servers: map[netip.AddrPort]string{}, roots: x509.NewCertPool()}
}

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers := w.names[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		w.names[host] = answers[1:]
	}
	return []netip.Addr{netip.MustParseAddr(answers[0])}, nil
}

func (w *world) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, to.String())
	server, ok := w.servers[to]
	w.mu.Unlock()
	if !ok {
		return nil, errors.New("no server listens at " + to.String())
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", server)
}

// serve starts a server for an origin. Its certificate is valid for example.com and subdomains.
func (w *world) serve(t testing.TB, where string, handler http.HandlerFunc) {
	t.Helper()
	o := mustOrigin(t, where)
	w.mu.Lock()
	defer w.mu.Unlock()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = hclog.NewNullLogger().StandardLogger(nil)
	if o.Scheme == "https" {
		server.StartTLS()
		w.roots.AddCert(server.Certificate())
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	address, err := netip.ParseAddr(o.Host)
	if err != nil {
		if w.names[o.Host] == nil {
			w.names[o.Host] = []string{fmt.Sprintf("93.184.216.%d", len(w.names)+1)}
		}
		address = netip.MustParseAddr(w.names[o.Host][0])
	}
	w.servers[netip.AddrPortFrom(address, o.Port)] = server.Listener.Addr().String()
}

// fetcher returns a Fetcher on the fake network.
func (w *world) fetcher(t testing.TB, c fetch.Config) *fetch.Fetcher {
	t.Helper()
	c.Dial = dial.Config{Resolver: w, Connect: w.connect}
	c.RootCAs = w.roots
	c.Log = hclog.New(&hclog.LoggerOptions{Output: &w.log, Level: hclog.Trace})
	c.Audit = func(_ context.Context, r fetch.Record) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.records = append(w.records, r)
	}
	f, err := fetch.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// grants returns grants of the given origins.
func grants(t testing.TB, origins ...string) []fetch.Grant {
	var out []fetch.Grant
	for _, o := range origins {
		out = append(out, fetch.Grant{Origin: mustOrigin(t, o)})
	}
	return out
}

func mustOrigin(t testing.TB, text string) origin.Origin {
	t.Helper()
	o, err := origin.Parse(text)
	if err != nil {
		t.Fatalf("the origin %s of the test is invalid: %v", text, err)
	}
	return o
}

func secret(header, value string) *fetch.Credential {
	return &fetch.Credential{Header: header, Value: func(context.Context) (string, error) { return value, nil }}
}

// code returns the code of a host error; "" for nil.
func code(err error) string {
	var host *abi.HostError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &host):
		return host.Code
	}
	return err.Error()
}

type log struct {
	mu   sync.Mutex
	text []byte
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
