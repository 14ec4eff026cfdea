//go:build unix

package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGrantOfHomeContainsState grants a plugin the whole home directory. The plugin can write its own state below it, even if
// ~/.local/state is a symbolic link, and sees no state of other plugins.
func TestGrantOfHomeContainsState(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(p *testUser) string{
		"in the default place": func(p *testUser) string { return p.path("home/.local/state") },
		"behind a link": func(p *testUser) string {
			if err := os.MkdirAll(p.path("home/disk"), 0o700); err != nil {
				p.t.Fatal(err)
			}
			if err := os.MkdirAll(p.path("home/.local"), 0o700); err != nil {
				p.t.Fatal(err)
			}
			if err := os.Symlink("../disk", p.path("home/.local/state")); err != nil {
				p.t.Fatal(err)
			}
			return p.path("home/disk")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestUser(t, agentpackRepo(1, "v1\n"))
			p.t = t
			state := prepare(p)
			other := filepath.Join(state, "bulkhead", "aam", "agentpack.yaml")
			putFile(t, other, "version: 1\n")
			if err := os.Chmod(filepath.Join(state, "bulkhead"), 0o700); err != nil {
				t.Fatal(err)
			}
			putFile(t, p.path("bulkhead.toml"), strings.NewReplacer("{home}", p.home, "{plugins}", p.plugins, "{project}", p.project).Replace(`
[[plugins]]
path = "{plugins}/agentpack"
fs = [{ path = "{home}", access = "rw" }, { path = "{project}", access = "rw" }]
env = { HOME = "{home}" }
`))
			cmd := programCommand(t, "serve", "--config", p.path("bulkhead.toml"), "--project", p.project)
			cmd.Env = environment(t, "HOME="+p.home, "XDG_STATE_HOME=")
			s := startServer(t, cmd)
			if e := s.agentpack("deploy_apply", confirmArguments(s.planDeploy(1))); !e.OK {
				t.Fatalf("%+v", e)
			}
			if _, err := os.Stat(filepath.Join(state, "bulkhead", "agentpack", "confirm-key")); err != nil {
				t.Error(err)
			}
			s.wantToolError("deploy", `{"repo":"`+filepath.Dir(other)+`"}`, "agentpack.yaml")
			s.end()
		})
	}
}
