package env_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
)

func TestDirectories(t *testing.T) {
	vars := map[string]string{}
	at := env.Env{Home: "/home/me", Cwd: "/w", Var: func(name string) string { return vars[name] }}
	for _, test := range []struct{ home, repo, data, want string }{
		{"", "", "/home/me/.agentpack", "/home/me/.agentpack/repo"},
		{"~/packs", "", "/home/me/packs", "/home/me/packs/repo"},
		{"~", "", "/w/~", "/w/~/repo"},
		{"here", "", "/w/here", "/w/here/repo"},
		{"/data/", "", "/data", "/data/repo"},
		{"", "/elsewhere/", "/home/me/.agentpack", "/elsewhere"},
		{"", "packs/../own", "/home/me/.agentpack", "/w/own"},
		{"", "~/own", "/home/me/.agentpack", "/w/~/own"},
	} {
		vars["AGENTPACK_HOME"] = test.home
		if at.DataDir() != test.data || at.RepoDir(test.repo) != test.want {
			t.Errorf("%q, %q: got %s, %s", test.home, test.repo, at.DataDir(), at.RepoDir(test.repo))
		}
	}
}
