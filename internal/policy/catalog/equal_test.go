package catalog_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestStillGrants(t *testing.T) {
	const (
		grants = "path = '../plugins/a'\nfs = [{ path = '${project}', access = 'rw' }]\nenv = { NAME = 'x' }\nhttp = [{ origin = 'https://a.example', credential = 'key' }]\n"
		config = "[[plugins]]\n" + grants
		key    = "[credentials.key]\nenv = 'KEY'\n"
	)
	manifest := hosttest.Plugin("a", done, "[capabilities]\nenv = ['NAME']\nhttp = ['https://a.example']\n"+project+"[offers]\nprompts = ['p']\n"+hosttest.Reads("one")+hosttest.Reads("two"))
	other := hosttest.Plugin("b", done, hosttest.Reads("other"))
	for name, c := range map[string]struct {
		config string
		files  hosttest.Files
		tool   string // "" for a request that is not a call
		want   bool
	}{
		"nothing":                          {config: config, tool: "one", want: true},
		"lines of the config":              {config: "# moved\n\n" + config, tool: "one", want: true},
		"a limit":                          {config: config + "limits = { time = '7s' }\n", tool: "one", want: true},
		"another tool":                     {config: config + "deny_tools = ['two']\n", tool: "one", want: true},
		"the tool":                         {config: config + "deny_tools = ['one']\n", tool: "one", want: false},
		"tools, for a request of a prompt": {config: config + "deny_tools = ['one']\n", want: true},
		"prompts":                          {config: config + "deny_prompts = ['*']\n", want: false},
		"the prefix":                       {config: config + "prefix = 'x_'\n", tool: "one", want: false},
		"the access to a directory":        {config: strings.Replace(config, "'rw'", "'r'", 1), tool: "one", want: false},
		"a directory":                      {config: strings.Replace(config, "{ path = '${project}', access = 'rw' }", "", 1), tool: "one", want: false},
		"a hidden file":                    {config: config + "deny = ['**/.env']\n", tool: "one", want: false},
		"a variable":                       {config: strings.Replace(config, "'x'", "'y'", 1), tool: "one", want: false},
		"a credential":                     {config: strings.Replace(config, ", credential = 'key'", "", 1), tool: "one", want: false},
		"the isolation":                    {config: config + "isolation = 'reused'\n", tool: "one", want: false},
		"the plugin":                       {config: "[[plugins]]\npath = '../plugins/b'\n", tool: "one", want: false},
		"the plugin's directory":           {config: strings.Replace(config, "plugins/a", "moved/a", 1), files: hosttest.At("moved/a", manifest), tool: "one", want: false},
		"a description":                    {config: config, files: hosttest.Files{"plugins/a/plugin.toml": strings.Replace(manifest["plugins/a/plugin.toml"], "access = \"read\"", "title = 'One'\naccess = 'read'", 1)}, tool: "one", want: true},
		"a fault":                          {config: config, files: hosttest.Files{"plugins/a/plugin.toml": manifest["plugins/a/plugin.toml"] + "x = 1\n"}, tool: "one", want: false},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, manifest, other)
			w.Env["KEY"] = "secret"
			serve := func(config string) *catalog.Plugin {
				w.Write(t, hosttest.Files{"work/bulkhead.toml": config + key})
				c, err := catalog.Look(w.Options())
				if err != nil {
					t.Fatal(err)
				}
				return c.Plugins[0]
			}
			before := serve(config)
			if before.Problem != "" {
				t.Fatal(before.Problem)
			}
			w.Write(t, c.files)
			now := serve(c.config)
			if got := now.StillGrants(before, c.tool); got != c.want {
				t.Errorf("got %t (problem %q)", got, now.Problem)
			}
		})
	}
}

// TestPolicyDigestDiffersWithEachPart changes one part of what decides about grants at a time.
func TestPolicyDigestDiffersWithEachPart(t *testing.T) {
	plugin := func(tools string) hosttest.Files {
		return hosttest.Plugin("a", done, "[capabilities]\nenv = ['NAME']\n"+hosttest.Reads("one")+tools)
	}
	write := func(name, content string) func(*testing.T, *hosttest.World) {
		return func(t *testing.T, w *hosttest.World) { w.Write(t, hosttest.Files{name: content}) }
	}
	const config = "include = ['more.toml']\n[[plugins]]\npath = '../plugins/a'\nenv = { NAME = '${env:VALUE}' }\n"
	optIn := strings.Replace(plugin(hosttest.Writes("two"))["plugins/a/plugin.toml"], "name = ", "write = 'opt-in'\nname = ", 1)
	for name, c := range map[string]struct {
		change  func(*testing.T, *hosttest.World)
		differs bool
	}{
		"nothing":            {func(*testing.T, *hosttest.World) {}, false},
		"the config":         {write("work/bulkhead.toml", config+"deny_tools = ['one']\n"), true},
		"an included file":   {write("work/more.toml", "# changed\n"), true},
		"the ceiling":        {write(hosttest.Ceiling, "[ceiling]\nlimits = { time = '7s' }\n"), true},
		"another ceiling":    {write(hosttest.Ceiling, "[ceiling]\nlimits = { time = '8s' }\n"), true},
		"a manifest":         {write("plugins/a/plugin.toml", optIn+"\n"), true},
		"a plugin left out":  {func(_ *testing.T, w *hosttest.World) { _ = os.Remove(w.Dir + "/plugins/a/it.wasm") }, true},
		"value of variables": {func(t *testing.T, w *hosttest.World) { w.Env["VALUE"] = "2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, plugin(""), hosttest.Files{"work/bulkhead.toml": config, "work/more.toml": "", "plugins/a/plugin.toml": optIn})
			w.Env["VALUE"] = "1"
			digest := func(allowWrite bool) string {
				o := w.Options()
				o.AllowWrite = allowWrite
				c, err := catalog.Look(o)
				if err != nil {
					t.Fatal(err)
				}
				return c.PolicyDigest()
			}
			before := digest(false)
			if len(before) != 64 || before == digest(true) {
				t.Errorf("with and without --allow-write the digest is %q", before)
			}
			if c.change(t, w); (digest(false) != before) != c.differs {
				t.Errorf("the digest differs: %t", !c.differs)
			}
		})
	}
}

// TestSeesAllOfComparesWhatModulesMayRead checks that a plugin with less of any part of a grant does not see all of one that has it.
func TestSeesAllOfComparesWhatModulesMayRead(t *testing.T) {
	plugin := func(change func(*config.Grant)) *catalog.Plugin {
		g := config.Grant{
			FS: []config.Mount{{Path: "/p", Access: manifest.Read}}, Git: []config.Git{{Repo: "/p"}}, HTTP: []config.HTTP{{PublicWeb: true}}, Deny: []string{"*.key"},
			Env: map[string]string{"A": "1"}, Secrets: map[string]config.Secret{"S": {File: "/s"}},
		}
		change(&g)
		m := &manifest.Manifest{Digest: "d"}
		m.Module.SHA256 = "m"
		return &catalog.Plugin{Name: "a", Manifest: m, Grant: g}
	}
	complete := plugin(func(*config.Grant) {})
	if tools := plugin(func(g *config.Grant) { g.Tools = nil; g.FS[0].Path = "/" }); !tools.SeesAllOf(complete) {
		t.Error("a plugin that may read more does not see all")
	}
	for part, change := range map[string]func(*config.Grant){
		"fs": func(g *config.Grant) { g.FS[0].Path = "/p/x" }, "within": func(g *config.Grant) { g.FS[0].Within = []string{"/p/x"} }, "git": func(g *config.Grant) { g.Git = nil },
		"http": func(g *config.Grant) { g.HTTP = nil }, "deny": func(g *config.Grant) { g.Deny = append(g.Deny, "*.md") },
		"env": func(g *config.Grant) { g.Env = nil }, "secrets": func(g *config.Grant) { g.Secrets = nil },
	} {
		if plugin(change).SeesAllOf(complete) {
			t.Errorf("%s: a plugin that may read less sees all", part)
		}
	}
}
