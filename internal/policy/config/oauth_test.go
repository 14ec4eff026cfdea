package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

func TestIssuers(t *testing.T) {
	c, ps := config.Parse("bulkhead.toml", []byte(`[http]
tokens = true
issuers = ["https://login.example.com/realms/team", "https://tenant.example.com/", "http://127.0.0.1:8080"]
audience = "https://mcp.example.com:8443/mcp"
other_audiences = ["api://1234"]
scopes = ["mcp:use"]
hosts = ["a.example.com"]
`+aPlugin))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	h := c.HTTP
	if !h.Tokens || len(h.Issuers) != 3 || h.Audience != "https://mcp.example.com:8443/mcp" || !reflect.DeepEqual(h.OtherAudiences, []string{"api://1234"}) || !reflect.DeepEqual(h.Scopes, []string{"mcp:use"}) {
		t.Errorf("got %+v", h)
	}
	if hosts := h.AllHosts(); !reflect.DeepEqual(hosts, []string{"a.example.com", "mcp.example.com"}) || len(h.Hosts) != 1 {
		t.Errorf("the hosts are %q", hosts)
	}
	if hosts := (&config.HTTPServer{Hosts: []string{"a"}}).AllHosts(); !reflect.DeepEqual(hosts, []string{"a"}) {
		t.Errorf("without audience: %q", hosts)
	}
}

func TestIssuersRefuses(t *testing.T) {
	const issuers, audience = "issuers = ['https://login.example.com']\n", "audience = 'https://mcp.example.com/mcp'\n"
	for keys, want := range map[string]string{
		issuers:          "http.audience: is missing",
		audience:         "http.audience: has no effect without issuers",
		"scopes = ['a']": "http.scopes: has no effect without issuers",
		"issuers = ['http://login.example.com']\n" + audience:      "http.issuers[0]: ",
		"issuers = ['login.example.com']\n" + audience:             "http.issuers[0]: ",
		"issuers = ['https://u:p@login.example.com']\n" + audience: "http.issuers[0]: ",
		"issuers = ['https://login.example.com?a']\n" + audience:   "http.issuers[0]: ",
		"issuers = ['https://login.example.com#a']\n" + audience:   "http.issuers[0]: ",
		"issuers = ['https://Login.example.com']\n" + audience:     "http.issuers[0]: ",
		"issuers = ['https://login.example.com/ä']\n" + audience:   "http.issuers[0]: ",
		"issuers = ['file:///etc/passwd']\n" + audience:            "http.issuers[0]: ",
		issuers + "audience = 'https://mcp.example.com/mcp/'":      "http.audience: is not valid",
		issuers + "audience = 'api://1234'":                        "http.audience: is not valid",
		issuers + "audience = 'http://mcp.example.com/mcp'":        "http.audience: is not valid",
		issuers + "audience = 'https://mcp.example.com/\"mcp'":     "http.audience: is not valid",
		issuers + "audience = ''":                                  "http.audience: is",
		issuers + audience + "scopes = ['a b']":                    "http.scopes[0]: ",
		issuers + audience + "scopes = ['a\"b']":                   "http.scopes[0]: ",
		issuers + audience + "other_audiences = ['']":              "http.other_audiences[0]: ",
	} {
		_, ps := config.Parse("bulkhead.toml", []byte("[http]\n"+keys+"\n"+aPlugin))
		if err := ps.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", keys, err, want)
		}
	}
}
