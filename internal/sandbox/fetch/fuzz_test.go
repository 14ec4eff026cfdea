package fetch_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

var public = netip.MustParseAddr("93.184.216.34")

// pipes is a fake network that resolves every name, records connections, and responds to requests with the current
// response or with 200.
type pipes struct {
	mu           sync.Mutex
	names, ports []string
	hosts        []string // values of the requests' Host headers
	answer       string
}

func (p *pipes) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = append(p.names, host)
	return []netip.Addr{public}, nil
}

func (p *pipes) connect(_ context.Context, to netip.AddrPort) (net.Conn, error) {
	if to.Addr() != public {
		return nil, errors.New("an address that no lookup returned is dialed: " + to.String())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ports = append(p.ports, to.String()[len(public.String())+1:])
	client, server := net.Pipe()
	answer := p.answer
	p.answer = ""
	go func() {
		defer server.Close()
		request, err := http.ReadRequest(bufio.NewReader(server))
		if err != nil {
			return
		}
		p.mu.Lock()
		p.hosts = append(p.hosts, request.Host)
		p.mu.Unlock()
		if answer == "" {
			answer = "HTTP/1.1 200 OK\r\n"
		}
		_, _ = server.Write([]byte(answer + "Connection: close\r\nContent-Length: 0\r\n\r\n"))
	}()
	return client, nil
}

func (p *pipes) fetcher(t testing.TB) *fetch.Fetcher {
	f, err := fetch.New(fetch.Config{
		Grants: grants(t, "http://a.example", "http://b.example:8080"),
		Dial:   dial.Config{Resolver: p, Connect: p.connect},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// check fails the test if anything but a granted origin was connected to or sent as Host.
func (p *pipes) check(t *testing.T, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, name := range p.names {
		if i >= len(p.ports) || !slices.Contains([]string{"a.example:80", "b.example:8080"}, name+":"+p.ports[i]) {
			t.Fatalf("%q caused connections to the hosts %q, ports %q", what, p.names, p.ports)
		}
	}
	for _, host := range p.hosts {
		if host != "a.example" && host != "b.example:8080" {
			t.Fatalf("%q caused a request with the Host header %q", what, host)
		}
	}
}

// FuzzURL checks that no URL reaches anything but a granted origin, and that package url and net/http agree on the host of
// an accepted URL.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{"http://a.example/x?y#z", "http://A.EXAMPLE:80", "http://b.example:8080/", "http://b.example", "http://a.example@b.example:8080/",
		`http://c.example\@a.example/`, "http://a.example:80@c.example/", "http://a.example./", "http://[::1]/", "http://127.1/", "//a.example", "http:a.example", "http://a.example:080/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := &pipes{}
		_, err := p.fetcher(t).Fetch(t.Context(), abi.HTTPRequest{URL: text})
		p.check(t, text)
		switch code(err) {
		case abi.HostInvalid, abi.HostDenied:
			if len(p.names) != 0 {
				t.Fatalf("%q was refused, but caused connections to %q", text, p.names)
			}
		case "":
			u, err := url.Parse(text)
			if err != nil || !strings.EqualFold(u.Hostname(), p.names[0]) || u.Port() != "" && u.Port() != p.ports[0] {
				t.Fatalf("%q (error %v) caused connections to the hosts %q, ports %q", text, err, p.names, p.ports)
			}
		default:
			t.Fatalf("%q: got the error %v, whose code is not one of http/fetch", text, err)
		}
	})
}

// FuzzRedirect checks that no redirect reaches anything but a granted origin.
func FuzzRedirect(f *testing.F) {
	for _, seed := range []string{"/x", "//b.example:8080/x", "//c.example", "http://b.example:8080", "http://c.example", "https://a.example", `\\c.example`, `/\c.example`,
		"http:/c.example", "http:c.example", "http://a.example@c.example", "http://me@a.example", "?x", "#x", "", "http://169.254.169.254/", "javascript:x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, location string) {
		if strings.ContainsAny(location, "\r\n") {
			return // a line break would end the Location header
		}
		p := &pipes{answer: "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\n"}
		_, err := p.fetcher(t).Fetch(t.Context(), abi.HTTPRequest{URL: "http://a.example/"})
		p.check(t, location)
		if c := code(err); c != "" && c != abi.HostDenied && c != abi.HostFailed {
			t.Fatalf("a redirect to %q: got the error %v, want none, or one with the code denied or failed", location, err)
		}
	})
}

// FuzzHeaders checks that, for any headers and method, the server parses exactly one request, for the granted host, without
// the module's values of connection headers.
func FuzzHeaders(f *testing.F) {
	f.Add("GET", "X-A", "b")
	f.Add("POST", "host", "c.example")
	f.Add("GET\r\n", "X", "y")
	f.Add("PUT", "X\r\nHost", "c.example")
	f.Add("PUT", "X", "y\r\nHost: c.example\r\n\r\nGET / HTTP/1.1")
	f.Add("PATCH", "Transfer-Encoding", "chunked")
	f.Add("GET", "Transfer_Encoding", "chunked")
	f.Add("GET", "Content-Length ", "5")
	f.Fuzz(func(t *testing.T, method, name, value string) {
		p := &pipes{}
		_, err := p.fetcher(t).Fetch(t.Context(), abi.HTTPRequest{
			URL: "http://a.example/", Method: method, Headers: map[string][]string{name: {value}}, Body: []byte("five!"),
		})
		p.check(t, name+": "+value)
		switch code(err) {
		case "":
			if len(p.hosts) != 1 {
				t.Fatalf("the server parsed %d requests, want 1", len(p.hosts))
			}
		case abi.HostInvalid:
			if len(p.names) != 0 {
				t.Fatalf("the request was refused, but caused connections to %q", p.names)
			}
		default:
			t.Fatalf("the method %q with the header %q: %q: got the error %v, whose code is not one of http/fetch", method, name, value, err)
		}
	})
}
