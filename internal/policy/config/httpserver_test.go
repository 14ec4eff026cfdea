package config_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

const aPlugin = "\n[[plugins]]\npath = 'a'\n"

func TestHTTPServer(t *testing.T) {
	c, ps := config.Parse("bulkhead.toml", []byte(`[http]
token_file = "${env:HERE}/token"
tls_cert = "/etc/c.pem"
tls_key = "/etc/k.pem"
state_keys = "/etc/states"
hosts = ["mcp.example.com", "192.0.2.1", "::1"]
origins = ["https://app.example.com:8443"]
session_idle = "1h"
max_connections = 100
`+aPlugin))
	ps = append(ps, config.Expand(c, func(string) (string, bool) { return "/here", true })...)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	want := &config.HTTPServer{TokenFile: filepath.Clean("/here/token"), CertFile: filepath.Clean("/etc/c.pem"), KeyFile: filepath.Clean("/etc/k.pem"), StateKeys: filepath.Clean("/etc/states"),
		Hosts: []string{"mcp.example.com", "192.0.2.1", "::1"}, Origins: []string{"https://app.example.com:8443"},
		SessionIdle: time.Hour, MaxConnections: 100, Source: "bulkhead.toml", Line: 1}
	if !reflect.DeepEqual(c.HTTP, want) {
		t.Errorf("got %+v, want %+v", c.HTTP, want)
	}
	if files := c.HTTP.Files(); !reflect.DeepEqual(files, []string{want.TokenFile, want.KeyFile, want.StateKeys}) {
		t.Errorf("files: %q", files)
	}
	changed := *want
	changed.Line = 7
	if !changed.Equal(want) || want.Equal(nil) {
		t.Error("Equal compares more or less than the values")
	}
	if changed.Insecure = true; changed.Equal(want) {
		t.Error("a changed value is equal")
	}
}

func TestHTTPServerRefuses(t *testing.T) {
	for keys, want := range map[string]string{
		"token = 'secret'":                                      "http.token: is not a known key",
		"listen = '127.0.0.1:1'":                                "http.listen: is not a known key",
		"token_file = 'token'":                                  "http.token_file: is not absolute",
		"state_keys = ''":                                       "http.state_keys: is empty",
		"state_keys = 'keys'":                                   "http.state_keys: is not absolute",
		"token_file = ''":                                       "http.token_file: is empty",
		"token_env = 'a secret'":                                "http.token_env: is not a variable name",
		"token_env = 'A'\ntoken_file = '/a'":                    "http.token_env: conflicts with token_file",
		"tls_cert = '/a'":                                       "http.tls_key: is missing",
		"tls_key = '/a'":                                        "http.tls_cert: is missing",
		"insecure_http = 1":                                     "http.insecure_http: ",
		"hosts = ['a:1']":                                       "http.hosts[0]: \"a:1\" is not valid",
		"hosts = ['*']":                                         "http.hosts[0]: \"*\" is not valid",
		"hosts = ['a', 'a']":                                    "http.hosts[1]: is a duplicate",
		"origins = ['example.com']":                             "http.origins[0]: ",
		"origins = ['https://example.com/']":                    "http.origins[0]: ",
		"origins = ['https://user@example.com']":                "http.origins[0]: ",
		"origins = ['https://*.example.com']":                   "http.origins[0]: ",
		"origins = ['https://']":                                "http.origins[0]: ",
		"origins = ['ftp://example.com']":                       "http.origins[0]: ",
		"origins = ['HTTPS://example.com']":                     "http.origins[0]: ",
		"origins = ['https://example.com?a']":                   "http.origins[0]: ",
		"hosts = ['']":                                          "http.hosts[0]: \"\" is not valid",
		"origins = ['*']":                                       "http.origins[0]: ",
		"max_connections = 0":                                   "http.max_connections: is 0, which is out of range",
		"session_idle = 'soon'":                                 "http.session_idle: ",
		"insecure_http = true\ntls_cert = '/a'\ntls_key = '/b'": "http.insecure_http: conflicts with tls_cert",
	} {
		_, ps := config.Parse("bulkhead.toml", []byte("[http]\n"+keys+"\n"+aPlugin))
		err := ps.Err()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") && want[5:10] != "token" {
			t.Errorf("%s: got %v, want %s", keys, err, want)
		}
	}
}

func TestCeilingBoundsHTTP(t *testing.T) {
	for text, cases := range map[string]map[[3]bool]bool{ // each case has three flags: loopback, token, TLS
		"":                    {{false, false, false}: true},
		"listen = 'none'":     {{true, true, true}: false},
		"listen = 'loopback'": {{true, false, false}: true, {false, true, true}: false},
		"token = 'required'":  {{true, false, false}: false, {true, true, false}: true},
		"tls = 'required'":    {{true, false, false}: true, {false, true, false}: false, {false, true, true}: true},
	} {
		c, ps := config.ParseCeiling("/c", []byte("[http]\n"+text))
		if err := ps.Err(); err != nil {
			t.Fatal(err)
		}
		for way, allowed := range cases {
			if why := c.HTTPProblem(way[0], way[1], way[2]); (why == "") != allowed {
				t.Errorf("%s, %v: %q", text, way, why)
			}
		}
	}
	if why := (*config.Ceiling)(nil).HTTPProblem(false, false, false); why != "" {
		t.Error(why)
	}
}

func TestHTTPServerIsComparedByValue(t *testing.T) {
	none, other := (*config.HTTPServer)(nil), &config.HTTPServer{}
	if !none.Equal(nil) || none.Equal(other) || other.Equal(none) || !other.Equal(&config.HTTPServer{Source: "x", Line: 3}) {
		t.Error("an absent [http] equals only an absent one")
	}
	if files := none.Files(); files != nil {
		t.Errorf("an absent [http] has the files %q", files)
	}
}
