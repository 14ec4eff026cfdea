//go:build unix

package remedy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// installation returns an installation with the plugins first and second, and a Finder of its config.
func installation(t *testing.T, config string) (*admintest.Workspace, *Finder) {
	t.Helper()
	w := admintest.New(t)
	for _, name := range []string{"first", "second"} {
		w.Plugin(t, name, "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\", why = 'x' }]\nhttp = ['https://a.example']\n")
	}
	w.Config(t, config)
	view, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	return w, New(w.Options(), view)
}

func (r Remedy) firstLine() string {
	if len(r.At) == 0 {
		return ""
	}
	return r.At[0].String()
}

func TestRefusalsHaveTheLineAndTheCommand(t *testing.T) {
	w, f := installation(t, "[[plugins]]\npath = \"../plugins/first\"\nfs = []\nhttp = []\ndeny_tools = ['*']\nlimits = { time = '1s' }\n")
	for _, c := range []struct {
		refused                 Refusal
		at, key, allow, command string
	}{
		{Refusal{Plugin: "first", Op: "file/open", Target: w.Path("work/a b")}, "bulkhead.toml:3", "fs", "work/a b", "bulkhead policy first --path '" + w.Path("work/a b") + "'"},
		{Refusal{Plugin: "first", Op: "file/open", Target: w.Path("work/cut…")}, "", "", "", ""},
		{Refusal{Plugin: "first", Op: "http/fetch", Target: "https://a.example"}, "bulkhead.toml:4", "http", `"https://a.example"`, "bulkhead policy first --origin https://a.example"},
		{Refusal{Plugin: "first", Op: "git/branch"}, "bulkhead.toml:1", "git", "", "bulkhead policy first"},
		{Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "not_granted"}, "bulkhead.toml:5", "deny_tools", "", "bulkhead policy first --tool first_read"},
		{Refusal{Method: "tools/call", Tool: "first_read", Principal: "token:unknown"}, "bulkhead.toml:5", "deny_tools", "", "bulkhead policy --tool first_read --config"},
		{Refusal{Method: "prompts/get", Tool: "first_read"}, "", "", "", ""},
		{Refusal{Plugin: "first", Code: "timeout"}, "bulkhead.toml:6", "limits.time", "", "bulkhead policy first"},
		{Refusal{Plugin: "first", Code: "approval_declined"}, "bulkhead.toml:1", "approve", "", "bulkhead policy first"},
		{Refusal{Code: "http_token"}, "", "", "", ""},
		{Refusal{Plugin: "first", Op: "file/open", Target: "relative"}, "", "", "", ""},
		{Refusal{Method: "tools/call", Tool: "$(reboot)'\u202e"}, "", "allow_tools", "", "bulkhead policy --tool "},
	} {
		r := f.Find(c.refused)
		at := r.firstLine()
		if !strings.HasSuffix(at, c.at) || c.at == "" && at != "" || r.Key != c.key || !strings.Contains(r.Allow, c.allow) || !strings.HasPrefix(r.Command, c.command) || c.command == "" && r.Command != "" {
			t.Errorf("%+v: got %+v", c.refused, r)
		}
		if strings.ContainsAny(r.Command, "\u202e") || strings.Contains(r.Command, " $(") {
			t.Errorf("the command has hostile text: %q", r.Command)
		}
	}
}

// TestRefusalsOfClientsHaveTheLineOfTheirTable has a token whose table of [[clients]] decides, and not the plugin's own.
func TestRefusalsOfClientsHaveTheLineOfTheirTable(t *testing.T) {
	w, f := installation(t, `[[clients]]
name = "ci"
match = { tokens = ["ci-*"] }
plugins = ["first"]
deny_tools = ["first_read"]
fs = [{ path = "${project}", access = "r" }]
[[clients]]
name = "rest"
match = { auth = "any" }
[[plugins]]
path = "../plugins/first"
fs = [{ path = "${project}", access = "rw" }]
[[plugins]]
path = "../plugins/second"
`)
	state, err := discovery.StateDir(w.Options().System)
	if err != nil {
		t.Fatal(err)
	}
	_, named, err := bearer.In(state).New(t.Context(), "ci-build", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		refused      Refusal
		at, key, why string
	}{
		{Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read"}, "bulkhead.toml:5", "", "denied by"},
		{Refusal{Method: "tools/call", Plugin: "second", Tool: "second_read"}, "bulkhead.toml:4", "", "not in clients[0].plugins"},
		{Refusal{Plugin: "first", Op: "file/write", Target: w.Path("work/x")}, "bulkhead.toml:12", "fs", "read-only"},
	} {
		c.refused.Principal = named.PrincipalID()
		if r := f.Find(c.refused); !strings.HasSuffix(r.firstLine(), c.at) || r.Key != c.key || !strings.Contains(r.Why, c.why) || !strings.Contains(r.Command, " --client ci-build") {
			t.Errorf("%+v: got %+v", c.refused, r)
		}
	}
	for principal, want := range map[string][2]string{
		named.PrincipalID(): {"ci-build (" + named.PrincipalID() + ")", "ci"}, "bearer": {"agent/1 (bearer)", "rest"}, "local": {"agent/1 (local)", ""}, "token:unknown": {"token:unknown", ""},
	} {
		if who, table := f.Who(principal, "agent/1"), f.Table(principal); who != want[0] || table != want[1] {
			t.Errorf("%s is named %q, of the table %q", principal, who, table)
		}
	}
	if r := f.Find(Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read", Principal: "token:unknown"}); len(r.At) > 0 || r.Command != "" || !strings.Contains(r.Why, "not exist") {
		t.Errorf("a token that was revoked: got %+v", r)
	}
	if r := f.Find(Refusal{Method: "tools/call", Plugin: "second", Tool: "second_read", Principal: "oauth:0123"}); len(r.At) > 0 || r.Key != "" || r.Command != "" ||
		!strings.Contains(r.Why, "claims of its token decide") || !strings.Contains(r.Why, "`bulkhead policy second --tool second_read --client CLAIMS.json") {
		t.Errorf("a client of an identity provider: got %+v", r)
	}
	if r := f.Find(Refusal{Method: "tools/call", Plugin: "second", Tool: "second_read", Principal: "local"}); strings.Contains(r.Command, "--client") || strings.Contains(r.Why, "clients[") {
		t.Errorf("the user of a server on stdio: got %+v", r)
	}
}

// TestCommandsChooseTheSameConfig has the flags with which `bulkhead ui` was started.
func TestCommandsChooseTheSameConfig(t *testing.T) {
	w, f := installation(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	f.options.ConfigFile, f.options.Project = "bulkhead.toml", w.Path("my project")
	want := "bulkhead policy first --config " + w.Path("work/bulkhead.toml") + " --project '" + w.Path("my project") + "'"
	if r := f.Find(Refusal{Plugin: "first", Op: "git/branch"}); r.Command != want {
		t.Errorf("got %s, want %s", r.Command, want)
	}
}

// TestLimitsHaveTheirSource has limits of the config's table, of the manifest and of neither.
func TestLimitsHaveTheirSource(t *testing.T) {
	w, _ := installation(t, "[[plugins]]\npath = \"../plugins/first\"\nlimits = { time = '1s' }\n")
	manifest := w.Read(t, "plugins/first/plugin.toml")
	w.Write(t, "plugins/first/plugin.toml", manifest+"\n[limits]\noutput = '1MiB'\n")
	view, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	f := New(w.Options(), view)
	for code, want := range map[string]struct{ at, key, why string }{
		"timeout":          {"bulkhead.toml:3", "limits.time", "1s is limits (bulkhead.toml:3)"},
		"output_too_large": {fmt.Sprintf("plugin.toml:%d", strings.Count(manifest, "\n")+2), "limits.output", "is limits of plugin.toml"},
		"memory":           {"", "limits.memory", "is the default"},
	} {
		if r := f.Find(Refusal{Plugin: "first", Code: code}); r.firstLine() != want.at || r.Key != want.key || !strings.Contains(r.Why, want.why) {
			t.Errorf("%s: got %+v", code, r)
		}
	}
}
