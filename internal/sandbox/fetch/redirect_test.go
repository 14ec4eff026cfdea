package fetch_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/google/go-cmp/cmp"
)

// to returns a handler that responds with a redirect.
func to(status int, location string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", location)
		rw.WriteHeader(status)
		fmt.Fprint(rw, "moved")
	}
}

func TestRedirectsReachOnlyGrantedOrigins(t *testing.T) {
	for name, c := range map[string]struct{ location, code, url string }{
		"a path":                             {"/end?a=b#c", "", "https://api.example.com/end?a=b"},
		"a relative path":                    {"end", "", "https://api.example.com/end"},
		"another granted origin":             {"https://other.example.com/end", "", "https://other.example.com/end"},
		"the origin without its scheme":      {"//other.example.com/end", "", "https://other.example.com/end"},
		"a path that looks like a host":      {`/\evil.example.com/end`, "", "https://api.example.com/%5Cevil.example.com/end"},
		"an origin that is not granted":      {"https://evil.example.com/end", abi.HostDenied, ""},
		"the same without its scheme":        {"//evil.example.com/end", abi.HostDenied, ""},
		"another port":                       {"https://api.example.com:8443/end", abi.HostDenied, ""},
		"down to plain http":                 {"http://api.example.com/end", abi.HostDenied, ""},
		"loopback":                           {"http://127.0.0.1/end", abi.HostDenied, ""},
		"loopback in short":                  {"http://127.1/end", abi.HostDenied, ""},
		"loopback as IPv6":                   {"http://[::1]/end", abi.HostDenied, ""},
		"the metadata service":               {"http://169.254.169.254/latest/meta-data/", abi.HostDenied, ""},
		"a granted host that became private": {"https://inside.example.com/end", abi.HostDenied, ""},
		"a user before a granted host":       {"https://me:pw@api.example.com/end", abi.HostDenied, ""},
		"a dot behind a granted host":        {"https://api.example.com./end", abi.HostDenied, ""},
		"a file":                             {"file:///etc/passwd", abi.HostDenied, ""},
		"a script":                           {"javascript:alert(1)", abi.HostDenied, ""},
		"something that is no URL":           {"https://[::1", abi.HostFailed, ""},
		"a URL that is too long":             {"/" + strings.Repeat("a", 8<<10), abi.HostFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			reached := ""
			w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/start" {
					to(http.StatusFound, c.location)(rw, r)
					return
				}
				reached = "https://" + r.Host + r.RequestURI
			})
			arrive := func(_ http.ResponseWriter, r *http.Request) { reached = "https://" + r.Host + r.RequestURI }
			for _, where := range []string{"https://other.example.com", "https://evil.example.com", "https://api.example.com:8443",
				"http://api.example.com", "http://127.0.0.1", "http://[::1]", "http://169.254.169.254"} {
				w.serve(t, where, arrive)
			}
			w.names["inside.example.com"] = []string{"192.168.0.1"}
			f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com", "https://other.example.com", "https://inside.example.com")})
			response, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/start"})
			if code(err) != c.code || response.URL != c.url || reached != c.url {
				t.Errorf("got %q from %q and the error %v; want %q and the error %q", response.URL, reached, err, c.url, c.code)
			}
			if refused := strings.Contains(w.log.String(), "http: denied"); refused != (c.code == abi.HostDenied) {
				t.Errorf("the log reports a refusal: %t, want %t; the log: %s", refused, c.code == abi.HostDenied, w.log.String())
			}
			if last := w.records[len(w.records)-1]; last.Code != c.code {
				t.Errorf("the last record is %+v, want the code %q", last, c.code)
			}
		})
	}
}

func TestRedirectChangesMethod(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		method string
		want   string // method, body and type of the second request; "" if there is none
	}{
		"301 turns POST into GET":    {301, "POST", "GET::"},
		"302 turns POST into GET":    {302, "POST", "GET::"},
		"303 turns POST into GET":    {303, "POST", "GET::"},
		"307 keeps POST":             {307, "POST", "POST:body:text/plain"},
		"308 keeps POST":             {308, "POST", "POST:body:text/plain"},
		"301 keeps PUT":              {301, "PUT", "PUT:body:text/plain"},
		"302 keeps DELETE":           {302, "DELETE", "DELETE:body:text/plain"},
		"303 turns PUT into GET":     {303, "PUT", "GET::"},
		"303 keeps HEAD":             {303, "HEAD", "HEAD::text/plain"},
		"302 keeps GET":              {302, "GET", "GET:body:text/plain"},
		"300 is an answer":           {300, "GET", ""},
		"304 is an answer":           {304, "GET", ""},
		"305 is an answer":           {305, "GET", ""},
		"201 with a location is one": {201, "POST", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			second := ""
			w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/start" {
					to(c.status, "/end")(rw, r)
					return
				}
				body, _ := io.ReadAll(r.Body)
				second = fmt.Sprintf("%s:%s:%s", r.Method, body, r.Header.Get("Content-Type"))
			})
			f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
			request := abi.HTTPRequest{URL: "https://api.example.com/start", Method: c.method, Headers: map[string][]string{"Content-Type": {"text/plain"}}}
			if c.method != "HEAD" {
				request.Body = []byte("body")
			}
			response, err := f.Fetch(t.Context(), request)
			wantStatus := http.StatusOK
			if c.want == "" {
				wantStatus = c.status
			}
			if err != nil || second != c.want || response.Status != wantStatus {
				t.Errorf("the second request is %q, want %q; %d, %v", second, c.want, response.Status, err)
			}
		})
	}
}

func TestRedirectWithoutLocationIsReturned(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusFound) })
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
	if response, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/"}); err != nil || response.Status != http.StatusFound {
		t.Errorf("got %+v, %v", response, err)
	}
}

func TestManualRedirectIsReturned(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", to(http.StatusFound, "http://127.0.0.1/"))
	f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
	response, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/", Redirect: abi.RedirectManual})
	if err != nil || response.Status != http.StatusFound || response.Headers["location"][0] != "http://127.0.0.1/" || string(response.Body) != "moved" {
		t.Errorf("got %+v, %v", response, err)
	}
}

func TestRedirectsAreBounded(t *testing.T) {
	for hops, want := range map[int]string{10: "", 11: abi.HostFailed} {
		w := newWorld()
		asked := 0
		w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
			asked++
			if n, _ := strconv.Atoi(r.URL.Path[1:]); n > 0 {
				to(http.StatusFound, "/"+strconv.Itoa(n-1))(rw, r)
			}
		})
		f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com")})
		_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: fmt.Sprintf("https://api.example.com/%d", hops)})
		if code(err) != want || asked != 11 {
			t.Errorf("%d redirects: got %d requests, want 11; the error %v, want the code %q", hops, asked, err, want)
		}
	}
}

// A cross-origin redirect drops the module's headers except those that negotiate the representation; a redirect back to
// the first origin does not restore them.
func TestHeadersAreDroppedAcrossOrigins(t *testing.T) {
	w := newWorld()
	got := []string{}
	chain := map[string]string{
		"https://a.example.com/1": "https://a.example.com/2",
		"https://a.example.com/2": "https://b.example.com/3",
		"https://b.example.com/3": "https://c.example.com/4",
	}
	handler := func(rw http.ResponseWriter, r *http.Request) {
		h := r.Header
		got = append(got, strings.Join([]string{r.Host + r.URL.Path, h.Get("Authorization"), h.Get("X-Key"), h.Get("Cookie"), h.Get("X-Own"), h.Get("Accept"), h.Get("Referer")}, "|"))
		if next := chain["https://"+r.Host+r.URL.Path]; next != "" {
			to(http.StatusTemporaryRedirect, next)(rw, r)
		}
	}
	for _, host := range []string{"a", "b", "c"} {
		w.serve(t, "https://"+host+".example.com", handler)
	}
	g := grants(t, "https://a.example.com", "https://b.example.com", "https://c.example.com")
	g[0].Credential = secret("X-Key", "key-of-a")
	f := w.fetcher(t, fetch.Config{Grants: g})
	_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://a.example.com/1", Headers: map[string][]string{
		"authorization": {"mine"}, "Cookie": {"c=mine"}, "X-Own": {"own"}, "Accept": {"text/plain"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a.example.com/1|mine|key-of-a|c=mine|own|text/plain|",
		"a.example.com/2|mine|key-of-a|c=mine|own|text/plain|",
		"b.example.com/3|||||text/plain|",
		"c.example.com/4|||||text/plain|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCrossOriginRedirectCarriesNeitherMethodNorBody(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		method, body string
		want         string // method and body of the second request; "" if it is denied
	}{
		"307 with POST":          {307, "POST", "secret", ""},
		"308 with POST":          {308, "POST", "secret", ""},
		"307 with an empty POST": {307, "POST", "", ""},
		"308 with DELETE":        {308, "DELETE", "", ""},
		"301 with PUT":           {301, "PUT", "secret", ""},
		"302 with PATCH":         {302, "PATCH", "secret", ""},
		"307 with OPTIONS":       {307, "OPTIONS", "", ""},
		"302 with GET and body":  {302, "GET", "secret", ""},
		"307 with GET and body":  {307, "GET", "secret", ""},
		"307 with GET":           {307, "GET", "", "GET:"},
		"308 with HEAD":          {308, "HEAD", "", "HEAD:"},
		"302 with POST":          {302, "POST", "secret", "GET:"},
		"303 with PUT":           {303, "PUT", "secret", "GET:"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			second := ""
			w.serve(t, "https://api.example.com", to(c.status, "https://other.example.com/end"))
			w.serve(t, "https://other.example.com", func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				second = fmt.Sprintf("%s:%s", r.Method, body)
			})
			f := w.fetcher(t, fetch.Config{Grants: grants(t, "https://api.example.com", "https://other.example.com")})
			request := abi.HTTPRequest{URL: "https://api.example.com/start", Method: c.method}
			if c.body != "" {
				request.Body = []byte(c.body)
			}
			_, err := f.Fetch(t.Context(), request)
			switch {
			case second != c.want:
				t.Errorf("the second request is %q, want %q; %v", second, c.want, err)
			case c.want != "" && err != nil:
				t.Error(err)
			case c.want == "" && (code(err) != abi.HostDenied || !strings.Contains(err.Error(), "to another origin, https://other.example.com: if that is intended, use redirect")):
				t.Errorf("got the error %v", err)
			}
		})
	}
}

// A server must not use another origin's credential, or the host's access to a private network, by a redirect to another
// origin or back to the module's own (confused deputy).
func TestCrossOriginRedirectUsesNoAuthority(t *testing.T) {
	for name, c := range map[string]struct{ ask, location, want string }{
		"to an origin with a credential":       {"https://plain.example.com/", "https://api.example.com/delete?all", "https://api.example.com, for which the host has a credential"},
		"back to the origin with a credential": {"https://api.example.com/start", "https://plain.example.com/", "https://api.example.com, for which the host has a credential"},
		"to a private host":                    {"https://plain.example.com/", "http://inside.example.com/", "http://inside.example.com, which is private"},
		"from a private host to another":       {"http://near.example.com/", "http://inside.example.com/", ""},
		"from a private host to a public one":  {"http://near.example.com/", "https://end.example.com/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.names["inside.example.com"], w.names["near.example.com"] = []string{"192.168.0.1"}, []string{"192.168.0.2"}
			reached := false
			for _, where := range []string{"https://plain.example.com", "http://near.example.com"} {
				w.serve(t, where, func(rw http.ResponseWriter, r *http.Request) {
					location := c.location
					if strings.HasPrefix(c.ask, "https://api.") {
						location = "https://api.example.com/delete?all"
					}
					to(http.StatusTemporaryRedirect, location)(rw, r)
				})
			}
			w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/start" {
					to(http.StatusTemporaryRedirect, c.location)(rw, r)
					return
				}
				reached = true
			})
			for _, where := range []string{"http://inside.example.com", "https://end.example.com"} {
				w.serve(t, where, func(http.ResponseWriter, *http.Request) { reached = true })
			}
			g := grants(t, "https://plain.example.com", "https://end.example.com", "https://api.example.com", "http://inside.example.com", "http://near.example.com")
			g[2].Credential = secret("Authorization", "Bearer of-api")
			g[3].Private, g[4].Private = true, true
			f := w.fetcher(t, fetch.Config{Grants: g})
			_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: c.ask})
			switch {
			case reached != (c.want == ""):
				t.Errorf("the redirect's target received a request: %t, want %t; error %v", reached, c.want == "", err)
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (code(err) != abi.HostDenied || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got the error %v, want %q in it", err, c.want)
			}
		})
	}
}
