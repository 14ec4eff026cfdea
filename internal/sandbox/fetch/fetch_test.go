package fetch_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/google/go-cmp/cmp"
)

func TestRequestAndResponse(t *testing.T) {
	for _, where := range []string{"https://api.example.com", "http://api.example.com:8080"} {
		w := newWorld()
		var got string
		w.serve(t, where, func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = fmt.Sprintf("%s %s Host=%s X-One=%q Agent=%s Body=%s", r.Method, r.RequestURI, r.Host, r.Header["X-One"], r.UserAgent(), body)
			rw.Header().Add("Set-Cookie", "a=1")
			rw.Header().Add("Set-Cookie", "b=2")
			rw.Header().Set("Content-Type", "text/plain")
			rw.Header().Set("Keep-Alive", "timeout=5")
			rw.Header()["Date"] = nil
			rw.WriteHeader(http.StatusTeapot)
			fmt.Fprint(rw, "short and stout\x00")
		})
		f := w.fetcher(t, fetch.Config{Grants: grants(t, where)})
		response, err := f.Fetch(t.Context(), abi.HTTPRequest{
			URL:     strings.ToUpper(where) + "/a%2Fb/../c?d=e#f",
			Method:  "PUT",
			Headers: map[string][]string{"x-one": {"1", "2"}},
			Body:    []byte("tea"),
		})
		if err != nil {
			t.Fatal(err)
		}
		host := strings.SplitN(where, "//", 2)[1]
		if want := "PUT /a%2Fb/../c?d=e Host=" + host + ` X-One=["1" "2"] Agent=bulkhead Body=tea`; got != want {
			t.Errorf("the server got\n%s, want\n%s", got, want)
		}
		want := abi.HTTPResponse{
			Status: http.StatusTeapot,
			URL:    where + "/a%2Fb/../c?d=e",
			Headers: map[string][]string{
				"content-type": {"text/plain"}, "content-length": {"16"}, "set-cookie": {"a=1", "b=2"},
			},
			Body: []byte("short and stout\x00"),
		}
		if diff := cmp.Diff(want, response); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]fetch.Record{{Method: "PUT", Target: where + "/a%2Fb/../c", Status: 418, Sent: 3, Received: 16}}, w.records); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOnlyGrantedOriginsAreReached(t *testing.T) {
	w := newWorld()
	asked := 0
	hit := func(http.ResponseWriter, *http.Request) { asked++ }
	for _, where := range []string{"https://api.example.com", "https://api.example.com:8443", "http://api.example.com", "https://other.example.com", "http://plain.example.com"} {
		w.serve(t, where, hit)
	}
	w.names["inside.example.com"] = []string{"10.0.0.7"}
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com", "http://plain.example.com", "https://inside.example.com", "http://169.254.169.254")})
	for name, c := range map[string]struct{ url, code string }{
		"the granted origin":                        {"https://api.example.com/x", ""},
		"in another spelling":                       {"HTTPS://API.example.com:443/x", ""},
		"plain http where the grant says so":        {"http://plain.example.com/", ""},
		"another port":                              {"https://api.example.com:8443/", abi.HostDenied},
		"plain http where the grant says https":     {"http://api.example.com/", abi.HostDenied},
		"http to the port of https":                 {"http://api.example.com:443/", abi.HostDenied},
		"https where the grant says plain http":     {"https://plain.example.com/", abi.HostDenied},
		"another host":                              {"https://other.example.com/", abi.HostDenied},
		"a host above":                              {"https://example.com/", abi.HostDenied},
		"a host below":                              {"https://x.api.example.com/", abi.HostDenied},
		"a host that begins alike":                  {"https://api.example.com.evil.example/", abi.HostDenied},
		"a granted host with a private address":     {"https://inside.example.com/", abi.HostDenied},
		"a granted metadata address, not private":   {"http://169.254.169.254/latest/meta-data", abi.HostDenied},
		"loopback":                                  {"http://127.0.0.1/", abi.HostDenied},
		"the granted host as the user name":         {"https://api.example.com@other.example.com/", abi.HostInvalid},
		"a user before the granted host":            {"https://me:pw@api.example.com/", abi.HostInvalid},
		"a backslash before the granted host":       {`https://other.example.com\@api.example.com/`, abi.HostInvalid},
		"a backslash in the path":                   {`https://api.example.com/\other.example.com/`, ""},
		"a dot behind the host":                     {"https://api.example.com./", abi.HostInvalid},
		"a percent-encoded host":                    {"https://%61pi.example.com/", abi.HostInvalid},
		"a host in letters that look alike":         {"https://аpi.example.com/", abi.HostInvalid},
		"loopback in short":                         {"http://127.1/", abi.HostInvalid},
		"loopback as IPv6":                          {"http://[::ffff:127.0.0.1]/", abi.HostInvalid},
		"an address with a zone":                    {"http://[fe80::1%25lo]/", abi.HostInvalid},
		"no URL":                                    {"", abi.HostInvalid},
		"a file":                                    {"file:///etc/passwd", abi.HostInvalid},
		"a URL without a host":                      {"https:///x", abi.HostInvalid},
		"a URL with a line break":                   {"https://api.example.com/\r\nX: y", abi.HostInvalid},
		"a URL of another line, percent-encoded":    {"https://api.example.com/%0d%0aX:%20y", ""},
		"a URL that is too long":                    {"https://api.example.com/" + strings.Repeat("a", 8<<10), abi.HostInvalid},
		"plain http's own port written out":         {"http://plain.example.com:80/x", ""},
		"a scheme that is not one of web servers'":  {"wss://api.example.com/", abi.HostInvalid},
		"the granted origin with a query as a path": {"https://api.example.com?x=y", ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked = 0
			_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: c.url})
			if code(err) != c.code {
				t.Errorf("got the error %v, want %q", err, c.code)
			}
			if (asked == 1) != (c.code == "") {
				t.Errorf("%d requests were sent, want one only if the URL is accepted", asked)
			}
		})
	}
}

// The name server responds with a public address first, and then with a loopback address.
func TestDNSRebindingHasNoEffect(t *testing.T) {
	w := newWorld()
	outside, inside := 0, 0
	w.serve(t, "http://rebind.example.com", func(rw http.ResponseWriter, _ *http.Request) {
		outside++
		rw.Header().Set("Connection", "close")
	})
	w.serve(t, "http://127.0.0.1", func(http.ResponseWriter, *http.Request) { inside++ })
	w.names["rebind.example.com"] = append(w.names["rebind.example.com"], "127.0.0.1")
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "http://rebind.example.com")})
	if _, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "http://rebind.example.com/"}); err != nil {
		t.Fatal(err)
	}
	_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "http://rebind.example.com/"})
	if want := "http: http://rebind.example.com: rebind.example.com has a loopback address: only a grant with private = true permits it (denied)"; err == nil || err.Error() != want {
		t.Errorf("got the error %v, want %s", err, want)
	}
	if diff := cmp.Diff([]string{"93.184.216.1:80"}, w.dialled); diff != "" || outside != 1 || inside != 0 {
		t.Errorf("%d requests to the public address, want 1; %d to loopback, want 0; dialled addresses (-want +got):\n%s", outside, inside, diff)
	}
}

func TestPrivateGrantReachesPrivateHost(t *testing.T) {
	w := newWorld()
	w.names["inside.example.com"] = []string{"10.0.0.7"}
	for _, where := range []string{"http://127.0.0.1:8080", "http://[::1]:8080", "https://inside.example.com", "http://169.254.169.254"} {
		w.serve(t, where, func(http.ResponseWriter, *http.Request) {})
		f := w.fetcher(t, fetch.Config{Grants: []fetch.Grant{{Origin: mustOrigin(t, where), Private: true}}})
		if _, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: where + "/"}); err != nil {
			t.Error(err)
		}
	}
}

func TestCookiesAreNotKept(t *testing.T) {
	w := newWorld()
	cookies := 0
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		cookies += len(r.Cookies())
		http.SetCookie(rw, &http.Cookie{Name: "session", Value: "1"})
		if r.URL.Path == "/first" {
			http.Redirect(rw, r, "/second", http.StatusFound)
		}
	})
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
	for range 2 {
		if _, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/first"}); err != nil || cookies != 0 {
			t.Errorf("got the error %v; the server received %d cookies, want none", err, cookies)
		}
	}
}

func TestNewRefusesInvalidGrants(t *testing.T) {
	api := mustOrigin(t, "https://api.example.com")
	plain := mustOrigin(t, "http://api.example.com")
	for name, c := range map[string]struct {
		grants []fetch.Grant
		limits fetch.Limits
		want   string
	}{
		"no origin":                           {grants: []fetch.Grant{{}}, want: "the origin is not in canonical form"},
		"an origin that is not canonical":     {grants: []fetch.Grant{{Origin: origin.Origin{Scheme: "https", Host: "API.example.com", Port: 443}}}, want: "the origin is not in canonical form"},
		"the same origin twice":               {grants: []fetch.Grant{{Origin: api}, {Origin: api, Private: true}}, want: "the origin is granted twice"},
		"a credential without a value":        {grants: []fetch.Grant{{Origin: api, Credential: &fetch.Credential{Header: "Authorization"}}}, want: "has no value"},
		"a credential that is no header":      {grants: []fetch.Grant{{Origin: api, Credential: secret("A b", "x")}}, want: "a header's name"},
		"a credential that is the host":       {grants: []fetch.Grant{{Origin: api, Credential: secret("host", "x")}}, want: "belongs to the connection"},
		"a credential over plain http":        {grants: []fetch.Grant{{Origin: plain, Credential: secret("Authorization", "x")}}, want: "unencrypted"},
		"a negative limit":                    {limits: fetch.Limits{ResponseBody: -1}, want: "negative"},
		"two schemes of a host are two":       {grants: []fetch.Grant{{Origin: api}, {Origin: plain}}},
		"a credential over private http":      {grants: []fetch.Grant{{Origin: plain, Private: true, Credential: secret("Authorization", "x")}}},
		"a credential in a header of its own": {grants: []fetch.Grant{{Origin: api, Credential: secret("X-Api-Key", "x")}}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fetch.New(fetch.Config{Grants: c.grants, Limits: c.limits})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q in it", err, c.want)
			}
		})
	}
}
