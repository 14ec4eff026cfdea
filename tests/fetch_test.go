//go:build unix

package tests

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// serveFetch serves fetch alone, with the item of the key http in its config.
func serveFetch(t *testing.T, grant string) *server {
	t.Helper()
	dir := newDir(t, map[string]string{"bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = %q\nhttp = [%s]\n", filepath.Join(built.plugins(t), "fetch"), grant)})
	return startServer(t, programCommand(t, "serve", "--config", filepath.Join(dir, "bulkhead.toml"), "--project", newDir(t, nil)))
}

// TestFetchReadsGrantedSite reads pages of a server of this machine through the built program: Markdown, a raw page, a redirect, and the
// prompt.
func TestFetchReadsGrantedSite(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
		case "/moved":
			http.Redirect(w, r, "/page", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL+"/secret", http.StatusFound)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html><body><h2>Boats</h2><p>Two <b>boats</b>.</p></body></html>")
		}
	}))
	defer site.Close()
	s := serveFetch(t, fmt.Sprintf(`"public-web", { origin = %q, private = true }`, site.URL))
	initialized := s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if !strings.Contains(initialized, `"name":"mcp-fetch"`) || !strings.Contains(initialized, `"version":"2026.10.24"`) {
		t.Errorf("initialize: %s", initialized)
	}
	if names := s.names(); len(names) != 1 || names[0] != "fetch" {
		t.Errorf("the tools are %q", names)
	}
	for _, c := range []struct{ arguments, want string }{
		{`{"url":"SITE/page"}`, "Contents of SITE/page:\n## Boats\n\nTwo **boats**."},
		{`{"url":"SITE/moved"}`, "Contents of SITE/moved:\n## Boats\n\nTwo **boats**."},
		{`{"url":"SITE/page","raw":true,"max_length":6}`, "Content type text/html cannot be simplified to markdown, but here is the raw content:\nContents of SITE/page:\n<html>\n\n<error>Content truncated. Call the fetch tool with a start_index of 6 to get more content.</error>"},
		{`{"url":"SITE/private"}`, "Error executing tool fetch: The sites robots.txt (SITE/robots.txt), specifies that autonomous fetching of this page is not allowed"},
		{`{"url":"SITE/away"}`, "Error executing tool fetch: Refused to fetch OTHER/robots.txt: OTHER is not granted"},
		{`{"url":"SITE/metadata"}`, "Error executing tool fetch: Refused to fetch http://169.254.169.254/robots.txt: http://169.254.169.254: 169.254.169.254 has a cloud metadata address"},
		{`{"url":"http://localhost/"}`, "Error executing tool fetch: Refused to fetch http://localhost/robots.txt: http://localhost: localhost has a loopback address"},
		{`{"url":"http://2130706433/"}`, "Error executing tool fetch: Refused to fetch http://2130706433/robots.txt: the URL has a host that ends in a number"},
		{`{"url":"http://example.com:8080/"}`, "Error executing tool fetch: Refused to fetch http://example.com:8080/robots.txt: http://example.com:8080 is not granted: the public web is http on port 80"},
		{`{}`, "Error executing tool fetch: 1 validation error for fetchArguments"},
	} {
		r := s.call("fetch", strings.ReplaceAll(c.arguments, "SITE", site.URL))
		want := strings.NewReplacer("SITE", site.URL, "OTHER", other.URL).Replace(c.want)
		if !strings.HasPrefix(r.Text, want) || r.IsError != strings.HasPrefix(want, "Error") {
			t.Errorf("%s: got %q, an error: %t; want %q", c.arguments, r.Text, r.IsError, want)
		}
	}
	for params, want := range map[string]string{
		`{"name":"fetch","arguments":{"url":"SITE/private"}}`: `"messages":[{"role":"user","content":{"type":"text","text":"## Boats\n\nTwo **boats**."}}],"_meta":{"bulkhead/outside_content":"SITE/private"}`,
		`{"name":"fetch","arguments":{"url":"SITE/away"}}`:    `Refused to fetch SITE/away: OTHER is not granted`,
		`{"name":"fetch"}`: `"error":{"code":-32602,"message":"URL is required"}`,
		`{"name":"nope"}`:  `"error":{"code":-32602,"message":"Unknown prompt: nope"}`,
	} {
		sites := strings.NewReplacer("SITE", site.URL, "OTHER", other.URL)
		if got := s.ask(`{"jsonrpc":"2.0","id":99,"method":"prompts/get","params":` + sites.Replace(params) + `}`); !strings.Contains(got, sites.Replace(want)) {
			t.Errorf("%s: got %s, want %s", params, got, sites.Replace(want))
		}
	}
	s.end()
	if n := reached.Load(); n > 0 {
		t.Errorf("a server that was not granted got %d requests", n)
	}
}

// TestFetchIsGrantedNothingByItself checks that without a grant in a config no page is read.
func TestFetchIsGrantedNothingByItself(t *testing.T) {
	t.Parallel()
	s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "fetch", "--project", newDir(t, nil)))
	if r := s.call("fetch", `{"url":"http://example.com/"}`); !r.IsError || !strings.Contains(r.Text, "Refused to fetch http://example.com/robots.txt: this plugin is granted no web server") {
		t.Errorf("got %+v", r)
	}
	s.end()
}
