package discovery

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

func TestHostFilesAreKnown(t *testing.T) {
	system := System{Dir: "/w/here", LookupEnv: func(name string) (string, bool) {
		value, ok := map[string]string{"HOME": "/home/me"}[name]
		return value, ok
	}}
	got := hostFiles(&Found{
		Options:     Options{System: system},
		Config:      "/etc/team.toml",
		Audit:       &config.Audit{File: "/log/audit", Keep: 1, Traces: config.Traces{HeadersFile: "/log/headers"}},
		Credentials: []*config.Credential{{File: "/run/token"}, {Env: "TOKEN"}},
		Sources:     config.Sources{Catalogues: []config.Catalogue{{From: "/srv/list.toml"}, {From: "https://a.example/list.toml"}}},
		Places:      config.Places{Project: "/w", State: "/state/bulkhead"},
		CacheDir:    "/cache/bulkhead",
		folders:     []string{"/opt/plugins/a"},
	})
	for _, want := range []string{
		filepath.Dir(storeIn(system).Dir), "/cache/bulkhead", "/state/bulkhead", "/etc/team.toml", "/srv/list.toml", "/srv/list.toml.minisig", "/log/audit", "/log/audit.key", "/log/audit.1", "/log/headers", "/run/token", "/opt/plugins/a",
		"/w/here/bulkhead.toml", "/w/bulkhead.toml", // files that do not exist yet
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among the host's files: %q", want, got)
		}
	}
	if tokens := bearer.In("/state/bulkhead").Path(); !slices.ContainsFunc(got, func(dir string) bool { return contain.Within(dir, tokens) }) {
		t.Errorf("%s is not below one of the host's directories: %q", tokens, got)
	}
	if slices.Contains(got, "") {
		t.Error("an empty path is among the host's files")
	}
}
