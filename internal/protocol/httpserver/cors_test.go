package httpserver

import (
	"net/http"
	"strings"
	"testing"
)

// TestPagesOfConfiguredOriginsOnly checks the headers of CORS, also of refusals, and that a preflight needs no token and reveals nothing.
func TestPagesOfConfiguredOriginsOnly(t *testing.T) {
	const token, allowed = "0123456789abcdefghij", "https://app.example.com"
	body, headers := modernCall("echo", `{}`)
	run(t, Config{Auth: accepting(token), Resource: resource, Origins: []string{allowed}}, func(t *testing.T, f *fixture) {
		for _, path := range []string{Path, metadataPath} {
			got := f.do(http.MethodOptions, path, "", "Origin", allowed, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, Mcp-Param-Region,x-other,mcp-param-<, Traceparent")
			if got.status != http.StatusNoContent || got.header.Get("Access-Control-Allow-Origin") != allowed || got.header.Get("Access-Control-Allow-Headers") != "authorization, mcp-param-region, traceparent" ||
				got.header.Get("Access-Control-Allow-Methods") != "POST, GET, DELETE" || got.header.Get("Access-Control-Allow-Credentials") != "" || got.header.Get("Vary") != "Origin" {
				t.Errorf("%s: a preflight has %d %v", path, got.status, got.header)
			}
		}
		for name, c := range map[string]struct {
			headers []string
			status  int
			origin  string
		}{
			"a call":                          {append(authorization(token), "Origin", allowed), 200, allowed},
			"a call without a token":          {[]string{"Origin", allowed}, 401, allowed},
			"a call of no page":               {authorization(token), 200, ""},
			"a call of a page of loopback":    {append(authorization(token), "Origin", "http://localhost:3000"), 200, ""},
			"a call of another page":          {append(authorization(token), "Origin", "https://evil.example.com"), 403, ""},
			"a call of a page without one":    {append(authorization(token), "Origin", "null"), 403, ""},
			"a call of a page in a subdomain": {append(authorization(token), "Origin", "https://x.app.example.com"), 403, ""},
			"a call of two pages":             {append(authorization(token), "Origin", allowed+"\x00https://evil.example.com"), 403, ""},
		} {
			got := f.post(body, append(headers[:len(headers):len(headers)], c.headers...)...)
			exposed := got.header.Get("Access-Control-Expose-Headers")
			if got.status != c.status || got.header.Get("Access-Control-Allow-Origin") != c.origin || strings.Contains(exposed, "WWW-Authenticate") != (c.origin != "") {
				t.Errorf("%s: %d %v", name, got.status, got.header)
			}
		}
		f.do(http.MethodOptions, Path, "", "Origin", "https://evil.example.com", "Access-Control-Request-Method", "POST").want(t, http.StatusForbidden, "")
		f.do(http.MethodOptions, Path, "", "Origin", allowed, "Host", "evil.example.com", "Access-Control-Request-Method", "POST").want(t, http.StatusForbidden, "")
		f.do(http.MethodOptions, Path, "", "Origin", allowed).want(t, http.StatusUnauthorized, "")
	})
	run(t, Config{}, func(t *testing.T, f *fixture) {
		got := f.do(http.MethodOptions, Path, "", "Origin", "http://localhost", "Access-Control-Request-Method", "POST")
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("without origins: %d %v", got.status, got.header)
		}
	})
}

func TestHeadersOfPreflightAreBounded(t *testing.T) {
	if got := allowedHeaders([]string{strings.Repeat("accept,", 1000)}); len(got) != maxPageHeaders {
		t.Errorf("%d headers", len(got))
	}
}
