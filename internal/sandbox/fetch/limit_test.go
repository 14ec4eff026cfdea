package fetch_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/hashicorp/go-hclog"
)

// fill writes n compressible bytes.
func fill(rw interface{ Write([]byte) (int, error) }, n int) {
	chunk := make([]byte, 64<<10)
	for n > 0 {
		if _, err := rw.Write(chunk[:min(n, len(chunk))]); err != nil {
			return
		}
		n -= min(n, len(chunk))
	}
}

func TestResponseLimitAppliesAfterDecompression(t *testing.T) {
	const limit = 1 << 20
	w := newWorld()
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		if r.Header.Get("Accept-Encoding") == "gzip" && r.URL.RawQuery == "gzip" {
			rw.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(rw)
			fill(z, n)
			_ = z.Close()
			return
		}
		fill(rw, n)
	})
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com"), Limits: fetch.Limits{ResponseBody: limit}})
	for name, c := range map[string]struct {
		path, code string
		size       int
	}{
		"just as large":                {fmt.Sprintf("/%d", limit), "", limit},
		"one byte too large":           {fmt.Sprintf("/%d", limit+1), abi.HostFailed, 0},
		"compressed, just as large":    {fmt.Sprintf("/%d?gzip", limit), "", limit},
		"compressed, a byte too large": {fmt.Sprintf("/%d?gzip", limit+1), abi.HostFailed, 0},
		"a decompression bomb":         {fmt.Sprintf("/%d?gzip", 1<<30), abi.HostFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com" + c.path})
			if code(err) != c.code || len(response.Body) != c.size || err != nil && !strings.Contains(err.Error(), "more than 1048576 bytes") {
				t.Errorf("got %d bytes and the error %v", len(response.Body), err)
			}
			if err == nil && response.Headers["content-encoding"] != nil {
				t.Errorf("a decompressed response has the header content-encoding: %v", response.Headers)
			}
		})
	}
}

func TestModuleMayDecompressItself(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Encoding", "br")
		fmt.Fprint(rw, r.Header["Accept-Encoding"])
	})
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
	response, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/", Headers: map[string][]string{"Accept-Encoding": {"br"}}})
	if err != nil || string(response.Body) != "[br]" || response.Headers["content-encoding"][0] != "br" {
		t.Errorf("got %q, %v, %v", response.Body, response.Headers, err)
	}
}

func TestResponseHeadersAreBounded(t *testing.T) {
	w := newWorld()
	handler := func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/many":
			for range 201 {
				rw.Header().Add("X-A", "a")
			}
		case "/large":
			rw.Header().Set("X-A", strings.Repeat("a", 65<<10))
		}
	}
	w.serve(t, "https://api.example.com", handler)
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
	for path, want := range map[string]string{"/many": "the limit is 200", "/large": "more than 65536 bytes of headers"} {
		_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com" + path})
		if code(err) != abi.HostFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %q in it", path, err, want)
		}
	}
}

// stalls sends a part of a response and then waits until the client disconnects.
func stalls(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/body" {
		fmt.Fprint(rw, "begins")
		_ = http.NewResponseController(rw).Flush()
	}
	<-r.Context().Done()
}

func TestSlowServerTimesOut(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		limit   time.Duration
		timeout int64
	}{
		"by the host's limit, before it answers":   {"/headers", 50 * time.Millisecond, 0},
		"by the host's limit, in its body":         {"/body", 50 * time.Millisecond, 0},
		"by the module's own limit":                {"/body", time.Minute, 50},
		"by the host's where the module's is more": {"/body", 50 * time.Millisecond, 60000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.serve(t, "https://api.example.com", stalls)
			f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com"), Limits: fetch.Limits{Time: c.limit}})
			start := time.Now()
			_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com" + c.path, TimeoutMS: c.timeout})
			if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "no response within 50ms") || time.Since(start) > 10*time.Second {
				t.Errorf("got the error %v after %v", err, time.Since(start))
			}
			if len(w.records) != 1 || w.records[0].Code != abi.HostFailed {
				t.Errorf("the records are %+v", w.records)
			}
		})
	}
}

func TestCanceledCallEndsRequest(t *testing.T) {
	for _, path := range []string{"/headers", "/body"} {
		w := newWorld()
		asked, gone := make(chan struct{}), make(chan struct{})
		w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
			close(asked)
			stalls(rw, r)
			close(gone)
		})
		f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if _, err := f.Fetch(ctx, abi.HTTPRequest{URL: "https://api.example.com" + path}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: got the error %v", path, err)
		}
		<-gone // the server noticed that the client disconnected
		if len(w.records) != 1 || w.records[0].Code != fetch.Canceled {
			t.Errorf("the records are %+v", w.records)
		}
	}
}

func TestConcurrentRequestsAreBounded(t *testing.T) {
	w := newWorld()
	var now, most atomic.Int32
	release := make(chan struct{})
	w.serve(t, "https://api.example.com", func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-release
		now.Add(-1)
	})
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com"), Limits: fetch.Limits{Concurrent: 2}})
	results := make(chan error, 6)
	for range 6 {
		go func() {
			_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/"})
			results <- err
		}()
	}
	for start := time.Now(); now.Load() < 2; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("two concurrent requests did not arrive within 10 s")
		}
	}
	// All slots are in use: another request waits until its timeout.
	_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/", TimeoutMS: 20})
	if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "no response within 20ms") {
		t.Errorf("a request without a free slot: got the error %v", err)
	}
	close(release)
	for range 6 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 2 {
		t.Errorf("the maximum of concurrent requests was %d, want 2", most.Load())
	}
}

func TestUnreachableServersFail(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://untrusted.example.com", func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	w.serve(t, "https://api.example.net", func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	w.serve(t, "http://plain.example.com:443", func(http.ResponseWriter, *http.Request) {})
	w.serve(t, "http://switch.example.com", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Connection", "upgrade")
		rw.Header().Set("Upgrade", "x")
		rw.WriteHeader(http.StatusSwitchingProtocols)
	})
	w.names["nothing.example.com"] = []string{"93.184.216.99"}
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://untrusted.example.com", "https://api.example.net", "https://plain.example.com",
		"http://switch.example.com", "https://nowhere.example.com", "https://nothing.example.com")})
	strict := newWorld()
	strict.names, strict.servers = w.names, w.servers
	trustsNobody := strict.fetcher(t, fetch.Config{Grants: grants(t, "https://untrusted.example.com")})
	for name, c := range map[string]struct {
		fetcher   *fetch.Fetcher
		url, want string
	}{
		"an unknown authority":       {trustsNobody, "https://untrusted.example.com/", "its certificate is signed by an unknown authority"},
		"a certificate of another":   {f, "https://api.example.net/", "its certificate is for another host"},
		"plain http where TLS is":    {f, "https://plain.example.com/", "does not speak TLS"},
		"another protocol than HTTP": {f, "http://switch.example.com/", "switches to a protocol other than HTTP"},
		"no such host":               {f, "https://nowhere.example.com/", "no such host"},
		"nothing at the address":     {f, "https://nothing.example.com/", "the connection was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.fetcher.Fetch(t.Context(), abi.HTTPRequest{URL: c.url})
			if code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
		server.Config.ErrorLog = hclog.NewNullLogger().StandardLogger(nil)
		server.StartTLS()
		defer server.Close()
		w := newWorld()
		w.roots.AddCert(server.Certificate())
		where := "https://" + server.Listener.Addr().String()
		w.servers[server.Listener.Addr().(*net.TCPAddr).AddrPort()] = server.Listener.Addr().String()
		f := w.fetcher(t, fetch.Config{Grants: []fetch.Grant{{Origin: mustOrigin(t, where), Private: true}}})
		_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: where})
		if (err == nil) != ok {
			t.Errorf("TLS %x: got the error %v", version, err)
		}
	}
}

func TestHTTP2IsUsed(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			for i := range 66 {
				rw.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("a", 1<<10))
			}
		}
		fmt.Fprint(rw, r.Proto, " ", r.Host)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	w := newWorld()
	w.roots.AddCert(server.Certificate())
	w.names["api.example.com"] = []string{"93.184.216.1"}
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
	w.servers[netip.MustParseAddrPort("93.184.216.1:443")] = server.Listener.Addr().String()
	response, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/"})
	if err != nil || string(response.Body) != "HTTP/2.0 api.example.com" {
		t.Errorf("got %q, %v", response.Body, err)
	}
	_, err = f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/large"})
	if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "bytes of headers") {
		t.Errorf("a response with large headers: got the error %v", err)
	}
}
