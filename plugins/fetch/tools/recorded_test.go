package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
	"github.com/bulkhead-mcp/bulkhead/tests/recorded"
)

// readCases reads a file of testdata.
func readCases(t testing.TB, name string, calls int) []recorded.Case {
	t.Helper()
	return recorded.Read(t, filepath.Join("..", "testdata", name), calls)
}

// newHost returns a host of the plugin that serves pages, and the User-Agent headers of the requests that it got.
func newHost(t testing.TB, pages map[string]recorded.Page) (host *sdktest.Host, agents map[string]string) {
	t.Helper()
	p := sdk.New()
	tools.Register(p)
	host, agents = sdktest.New(t, p, filepath.Join("..", "plugin.toml")), map[string]string{}
	host.Handle(abi.OpHTTPFetch, func(params json.RawMessage) (any, error) {
		var q abi.HTTPRequest
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		where := q.URL
		for range 11 {
			u, err := url.Parse(where)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
				return nil, &abi.HostError{Code: abi.HostInvalid, Message: "http: the URL is not granted by this test"}
			}
			u.Fragment = ""
			agents[u.String()] = strings.Join(q.Headers["User-Agent"], "|")
			response := answer(t, pages, u.String())
			location := response.Headers["location"]
			if q.Redirect == abi.RedirectManual || response.Status/100 != 3 || location == nil || location[0] == "" {
				return response, nil
			}
			to, err := u.Parse(location[0])
			if err != nil {
				return nil, &abi.HostError{Code: abi.HostFailed, Message: "http: a malformed URL"}
			}
			if to.Scheme != "http" {
				return nil, &abi.HostError{Code: abi.HostDenied, Message: "http: redirects to a URL that is not the URL of a web server"}
			}
			where = to.String()
		}
		return nil, &abi.HostError{Code: abi.HostFailed, Message: "http: more than 10 redirects"}
	})
	return host, agents
}

func answer(t testing.TB, pages map[string]recorded.Page, url string) abi.HTTPResponse {
	p, found := pages[url]
	r := abi.HTTPResponse{Status: p.Status, URL: url, Headers: map[string][]string{}, Body: []byte(p.Body)}
	switch {
	case !found:
		r.Status = http.StatusNotFound
	case p.Status == 0:
		r.Status = http.StatusOK
	}
	for name, value := range p.Headers {
		r.Headers[strings.ToLower(name)] = []string{value}
	}
	if p.Base64 != nil {
		r.Body = p.Base64
	}
	if p.File != "" {
		var err error
		if r.Body, err = os.ReadFile(filepath.Join("..", "testdata", p.File)); err != nil {
			t.Error(err)
		}
	}
	return r
}

// departures are the requests of recorded cases, by case and number, that the plugin answers differently, with a part of its answer.
// README.md has the reasons.
var departures = map[string]string{
	"spellings of URLs 8":    "http://site.example/%7Ea%25zz - status code 404",
	"spellings of URLs 15":   "http://site.example/a%5B1%5D%7C%7B2%7D%5E%60 - status code 404",
	"redirect to nothing 1":  "Page failed to be simplified",
	"redirect to ftp 1":      "Refused to fetch http://site.example/: redirects to a URL that is not the URL of a web server",
	"redirect to a script 0": "Failed to fetch robots.txt javascript:/robots.txt due to a connection issue",
	"redirect to a script 1": "Refused to fetch http://site.example/: redirects to a URL that is not the URL of a web server",
	"redirect to itself 1":   "Failed to fetch http://site.example/: more than 10 redirects",
}

// TestRecordedAnswers repeats the recorded requests, and compares the answers with those of the server that the plugin replaces.
func TestRecordedAnswers(t *testing.T) {
	unused := map[string]bool{}
	for name := range departures {
		unused[name] = true
	}
	for _, c := range readCases(t, "recorded.jsonl", 270) {
		host, _ := newHost(t, c.Pages)
		for i, r := range c.Requests {
			key := fmt.Sprintf("%s %d", c.Name, i)
			params, answered := any(r.Params), r.Result
			if r.Tool != "" {
				r.Method, params = abi.MethodToolsCall, map[string]any{"name": r.Tool, "arguments": r.Arguments}
			}
			if r.Method == "tools/list" {
				continue // TestToolIsThatOfReplacedServer
			}
			got, err := host.Request(r.Method, params)
			if refused := (*sdk.Error)(nil); errors.As(err, &refused) {
				answered = r.Error
				got, err = json.Marshal(refused)
			}
			if err != nil {
				t.Errorf("%s: %v", key, err)
				continue
			}
			if answered == nil {
				answered = r.Error
			}
			want, departs := departures[key]
			delete(unused, key)
			switch diff := cmp.Diff(comparable(t, answered), comparable(t, got)); {
			case departs && diff == "":
				t.Errorf("%s: the answers agree, remove the departure", key)
			case departs && !strings.Contains(string(got), want):
				t.Errorf("%s: got %s, want %s", key, got, want)
			case !departs && diff != "":
				t.Errorf("%s: %s%s (-want +got)\n%s", key, r.Arguments, r.Params, diff)
			}
		}
	}
	for name := range unused {
		t.Errorf("no recorded request is called %q", name)
	}
}

// comparable decodes an answer without what only one of the servers has: descriptions, which are its own, the mark of outside content, and
// members with their default values.
func comparable(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return stripped(v)
}

func stripped(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = stripped(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if _, text := member.(string); text && name == "description" || name == "_meta" || name == "isError" && member == false || name == "data" && member == nil {
				delete(v, name)
			} else {
				v[name] = stripped(member)
			}
		}
	}
	return v
}
