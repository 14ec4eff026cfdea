package fetch_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// notPublic are addresses that the public web never includes, by what they are.
var notPublic = map[string]string{
	"loopback": "127.0.0.1", "loopback as IPv6": "::1", "IPv4-mapped loopback": "::ffff:127.0.0.1", "10/8": "10.1.2.3", "172.16/12": "172.31.0.1",
	"192.168/16": "192.168.0.1", "link-local": "169.254.3.4", "IPv6 link-local": "fe80::1", "unique local": "fd12::1", "site-local": "fec0::1",
	"the metadata service": "169.254.169.254", "the metadata service of Azure": "168.63.129.16", "the metadata service by IPv6": "fd00:ec2::254",
	"carrier-grade NAT": "100.64.0.1", "multicast": "224.0.0.1", "IPv6 multicast": "ff02::1", "unspecified": "0.0.0.0", "IPv6 unspecified": "::",
	"broadcast": "255.255.255.255", "NAT64 of loopback": "64:ff9b::7f00:1", "NAT64 of a private address": "64:ff9b::a00:1",
	"local NAT64": "64:ff9b:1::808:808", "6to4": "2002:808:808::1", "6to4 of loopback": "2002:7f00:1::1", "Teredo": "2001:0:808:808::f7f7:f7f7",
	"IPv4-compatible": "::7f00:1", "documentation": "2001:db8::1", "benchmark": "198.18.0.1",
}

func TestPublicWebRefusesOtherAddresses(t *testing.T) {
	for name, address := range notPublic {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.serve(t, "https://start.example.com", to(http.StatusFound, "http://inside.example.com/"))
			w.names["inside.example.com"] = []string{address}
			f := w.fetcher(t, fetch.Config{PublicWeb: true})
			literal := "http://" + address + "/"
			if strings.Contains(address, ":") {
				literal = "http://[" + address + "]/"
			}
			for _, url := range []string{"http://inside.example.com/", "https://inside.example.com/", "https://start.example.com/", literal} {
				w.dialled = nil
				_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: url})
				// A literal that package origin refuses, such as an IPv4 address written as IPv6, is invalid.
				if got := code(err); got != abi.HostDenied && (got != abi.HostInvalid || url != literal) {
					t.Errorf("%s: got %v, want a refusal", url, err)
				}
				if dials := len(w.dialled); dials > 1 || dials == 1 && url != "https://start.example.com/" {
					t.Errorf("%s: dialled %q", url, w.dialled)
				}
			}
		})
	}
}

func TestPublicWebReachesDefaultPortsOnly(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.example.com/":                    "",
		"https://a.example.com/x?y":                "",
		"HTTPS://A.example.COM:443/":               "",
		"http://93.184.216.34:80/":                 "",
		"http://[2606:2800::1]/":                   "",
		"http://xn--bcher-kva.example.com/":        "",
		"http://a.example.com:8080/":               abi.HostDenied,
		"https://a.example.com:8443/":              abi.HostDenied,
		"http://a.example.com:443/":                abi.HostDenied,
		"https://a.example.com:80/":                abi.HostDenied,
		"http://a.example.com:22/":                 abi.HostDenied,
		"ftp://a.example.com/":                     abi.HostInvalid,
		"file:///etc/passwd":                       abi.HostInvalid,
		"http://me@a.example.com/":                 abi.HostInvalid,
		"http://a.example.com@127.0.0.1/":          abi.HostInvalid,
		"http://a.example.com./":                   abi.HostInvalid,
		"http://bücher.example.com/":               abi.HostInvalid,
		"http://127。0。0。1/":                        abi.HostInvalid,
		"http://①②⑦.0.0.1/":                        abi.HostInvalid,
		"http://2130706433/":                       abi.HostInvalid,
		"http://0177.0.0.1/":                       abi.HostInvalid,
		"http://0x7f.0.0.1/":                       abi.HostInvalid,
		"http://0x7f000001/":                       abi.HostInvalid,
		"http://127.1/":                            abi.HostInvalid,
		"http://[::ffff:7f00:1]/":                  abi.HostInvalid,
		"http://[fe80::1%25lo]/":                   abi.HostInvalid,
		"http://a.example.com:080/":                abi.HostInvalid,
		"http://a.example.com:/":                   abi.HostInvalid,
		`http://a.example.com\@127.0.0.1/`:         abi.HostInvalid,
		"http://a.example.com\t/":                  abi.HostInvalid,
		"http://127.0.0.1.nip.example.com.:80/":    abi.HostInvalid,
		"http://a.example.com:99999/":              abi.HostInvalid,
		"//a.example.com/":                         abi.HostInvalid,
		"gopher://a.example.com:80/_GET%20/":       abi.HostInvalid,
		"http://%31%32%37.0.0.1/":                  abi.HostInvalid,
		"http://a.example.com%00.evil.example.com": abi.HostInvalid,
	} {
		w, reached := newWorld(), 0
		arrive := func(http.ResponseWriter, *http.Request) { reached++ }
		for _, where := range []string{"http://a.example.com", "https://a.example.com", "http://93.184.216.34", "http://[2606:2800::1]", "http://xn--bcher-kva.example.com",
			"http://a.example.com:8080", "https://a.example.com:8443", "http://127.0.0.1"} {
			w.serve(t, where, arrive)
		}
		_, err := w.fetcher(t, fetch.Config{PublicWeb: true}).Fetch(t.Context(), abi.HTTPRequest{URL: url})
		if got := code(err); got != want || (reached == 1) != (want == "") {
			t.Errorf("%s: got %v and reached %d servers, want the code %q", url, err, reached, want)
		}
	}
}

// TestPublicWebResolvesForEachConnection checks that a name that is rebound between two requests, or between a request and its redirect,
// is refused.
func TestPublicWebResolvesForEachConnection(t *testing.T) {
	for name, redirect := range map[string]bool{"a second request": false, "a redirect to the same name": true} {
		t.Run(name, func(t *testing.T) {
			w, reached := newWorld(), 0
			w.serve(t, "http://rebind.example.com", func(rw http.ResponseWriter, r *http.Request) {
				reached++
				rw.Header().Set("Connection", "close") // the next request needs a new connection
				if redirect {
					to(http.StatusFound, "/again")(rw, r)
				}
			})
			w.serve(t, "http://127.0.0.1", func(http.ResponseWriter, *http.Request) { t.Error("loopback was reached") })
			w.names["rebind.example.com"] = append(w.names["rebind.example.com"], "127.0.0.1")
			f := w.fetcher(t, fetch.Config{PublicWeb: true})
			_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "http://rebind.example.com/"})
			if !redirect {
				if err != nil {
					t.Fatalf("the first request: %v", err)
				}
				_, err = f.Fetch(t.Context(), abi.HTTPRequest{URL: "http://rebind.example.com/"})
			}
			if code(err) != abi.HostDenied || !strings.Contains(err.Error(), "loopback") || reached != 1 || len(w.dialled) != 1 {
				t.Errorf("got %v after %d requests to %q, want loopback refused after one", err, reached, w.dialled)
			}
		})
	}
}

func TestPublicWebRedirects(t *testing.T) {
	for location, want := range map[string]string{
		"https://other.example.com/":       "",
		"http://other.example.com/":        "",
		"//other.example.com/":             "",
		"http://other.example.com:8080/":   "is not granted",
		"http://127.0.0.1/":                "loopback",
		"http://169.254.169.254/latest/":   "cloud metadata",
		"http://[::ffff:127.0.0.1]/":       "an IPv4 address written as IPv6",
		"http://2130706433/":               "ends in a number",
		"http://me:pw@other.example.com/":  "has a user name",
		"http://other.example.com./":       "ends in a dot",
		"file:///etc/passwd":               "is not the URL of a web server",
		"http://intranet.example.com/":     "which is private",
		"https://keyed.example.com/":       "for which the host has a credential",
		"http://intranet.example.com:8080": "is not granted",
	} {
		t.Run(location, func(t *testing.T) {
			w, reached := newWorld(), 0
			w.serve(t, "https://start.example.com", to(http.StatusFound, location))
			for _, where := range []string{"http://other.example.com", "https://other.example.com", "http://127.0.0.1", "http://169.254.169.254", "http://intranet.example.com", "https://keyed.example.com"} {
				w.serve(t, where, func(http.ResponseWriter, *http.Request) { reached++ })
			}
			f := w.fetcher(t, fetch.Config{PublicWeb: true, Grants: []fetch.Grant{
				{Origin: mustOrigin(t, "http://intranet.example.com"), Private: true},
				{Origin: mustOrigin(t, "https://keyed.example.com"), Credential: secret("X-Key", "hush")},
			}})
			_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://start.example.com/"})
			if want == "" && (err != nil || reached != 1) || want != "" && (code(err) != abi.HostDenied || !strings.Contains(err.Error(), want) || reached != 0) {
				t.Errorf("got %v and reached %d servers, want %q", err, reached, want)
			}
		})
	}
}

// TestGrantOfOriginPrecedesPublicWeb checks that an origin of the list keeps its credential and its private addresses, and that no other
// origin gets them.
func TestGrantOfOriginPrecedesPublicWeb(t *testing.T) {
	w := newWorld()
	got := map[string]string{}
	for _, host := range []string{"https://keyed.example.com", "https://other.example.com", "http://intranet.example.com"} {
		w.names["intranet.example.com"] = []string{"10.0.0.1"}
		w.serve(t, host, func(_ http.ResponseWriter, r *http.Request) { got[r.Host] = r.Header.Get("X-Key") })
	}
	f := w.fetcher(t, fetch.Config{PublicWeb: true, Grants: []fetch.Grant{
		{Origin: mustOrigin(t, "https://keyed.example.com"), Credential: secret("X-Key", "hush")}, {Origin: mustOrigin(t, "http://intranet.example.com"), Private: true},
	}})
	for _, url := range []string{"https://keyed.example.com/", "https://other.example.com/", "http://intranet.example.com/"} {
		if _, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: url}); err != nil {
			t.Error(err)
		}
	}
	if want := "map[intranet.example.com: keyed.example.com:hush other.example.com:]"; fmt.Sprint(got) != want {
		t.Errorf("got the keys %v, want %s", got, want)
	}
	_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "http://other.example.com:81/"})
	if want := "the public web is http on port 80 and https on port 443"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(w.log.String(), "granted=\"public-web, http://intranet") {
		t.Errorf("got %v, want %q; the log: %s", err, want, w.log.String())
	}
}

// TestPublicWebExcludesListenersGrantedAsPrivate requests the listener of a private grant by the scheme that only the public web grants,
// which would reach a private address.
func TestPublicWebExcludesListenersGrantedAsPrivate(t *testing.T) {
	w, reached := newWorld(), 0
	w.names["intranet.example.com"] = []string{"10.0.0.1"}
	w.serve(t, "http://intranet.example.com", func(http.ResponseWriter, *http.Request) { reached++ })
	w.serve(t, "https://start.example.com", to(http.StatusFound, "http://intranet.example.com/"))
	f := w.fetcher(t, fetch.Config{PublicWeb: true, Grants: []fetch.Grant{{Origin: mustOrigin(t, "https://intranet.example.com:80"), Private: true}}})
	for _, url := range []string{"http://intranet.example.com/", "https://start.example.com/"} {
		if _, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: url}); code(err) != abi.HostDenied || reached != 0 {
			t.Errorf("%s: got %v and %d requests to the private server, want a refusal", url, err, reached)
		}
	}
}
