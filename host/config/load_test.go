package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

const full = `[server]
name = "bulkhead"

[defaults.limits]
time = "30s"

[[plugins]]
path = "plugins/notes"
sha256 = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
allow_tools = ["notes_*"]
deny_tools = []
read_only = true
allow_write = false
fs = [{ path = "${project}/x", access = "rw" }]
env = { USER = "me" }
limits = { memory = "32MiB", time = "5s", concurrency = 4 }
isolation = "reused"

[[plugins]]
path = "/opt/other/"
`

func TestParseReadsEveryKey(t *testing.T) {
	c, ps := config.Parse("/etc/b/bulkhead.toml", []byte(full))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		File: "/etc/b/bulkhead.toml", Server: &config.Server{Name: "bulkhead"},
		Defaults: config.Defaults{Limits: manifest.Limits{Time: 30 * time.Second}},
		Plugins: []config.Plugin{
			{Path: "/etc/b/plugins/notes", SHA256: "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
				AllowTools: []string{"notes_*"}, DenyTools: []string{}, ReadOnly: true,
				FS:  []manifest.FS{{Path: "${project}/x", Access: "rw", Line: 14}},
				Env: map[string]string{"USER": "me"}, Limits: manifest.Limits{Memory: 32 << 20, Time: 5 * time.Second, Concurrency: 4},
				Isolation: config.IsolationReused, Line: 7, File: "/etc/b/bulkhead.toml", Key: "plugins[0]"},
			{Path: "/opt/other", Isolation: config.IsolationPristine, Line: 19, File: "/etc/b/bulkhead.toml", Key: "plugins[1]"},
		},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreFields(config.Plugin{}, "Lines")); diff != "" {
		t.Error(diff)
	}
	if len(ps) != 1 || ps[0].Key != "plugins[0].isolation" || ps[0].Line != 17 {
		t.Errorf("what is not acted on yet: %v", ps)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown table":           {"[servers]\nname='x'", `1 servers: is not a known key did you mean "server"?`},
		"an unknown key":             {conf("allow_tool = []"), `3 plugins[0].allow_tool: is not a known key did you mean "allow_tools"?`},
		"an unknown key of a folder": {conf("fs = [{ path = '/x', access = 'r', acces = 'r' }]"), `3 plugins[0].fs[0].acces: is not a known key did you mean "access"?`},
		"an unknown limit":           {"[defaults.limits]\nmem = '1MiB'", "2 defaults.limits.mem: is not a known key"},
		"an unknown default":         {"[defaults]\nread_only = true", "2 defaults.read_only: is not a known key"},
		"a server without name":      {"[server]", "1 server.name: is missing"},
		"a plugin without path":      {"[[plugins]]", "1 plugins[0].path: is missing"},
		"one plugin twice":           {"[[plugins]]\npath='a'\n[[plugins]]\npath='./a/'", "4 plugins[1].path: "},
		"a pattern that is none":     {conf("deny_tools = ['a', '[']"), `3 plugins[0].deny_tools[1]: "[" is not a pattern`},
		"a pattern twice":            {conf("deny_tools = ['a', 'a']"), "3 plugins[0].deny_tools[1]: is there twice"},
		"a digest that is none":      {conf("sha256 = 'x'"), "3 plugins[0].sha256: is not a SHA-256 in hex"},
		"an isolation that is none":  {conf("isolation = 'full'"), `3 plugins[0].isolation: is "full" write "pristine" or "reused"`},
		"a relative folder":          {conf("fs = [{ path = 'x', access = 'r' }]"), `3 plugins[0].fs[0].path: "x" is not absolute`},
		"a folder without access":    {conf("fs = [{ path = '/x' }]"), "3 plugins[0].fs[0].access: is missing"},
		"a variable of the host":     {conf("env = { PWD = '/' }"), "3 plugins[0].env.PWD: is set by the host"},
		"a variable that is no text": {conf("env = { A = 1 }"), "3 plugins[0].env.A: is an integer, not a string"},
		"a variable with a NUL byte": {conf(`env = { A = "\u0000hush" }`), "3 plugins[0].env.A: holds a NUL byte"},
		"read_only and allow_write":  {conf("read_only = true\nallow_write = true"), "4 plugins[0].allow_write: contradicts read_only"},
		"plugins that are no array":  {"[plugins]", "1 plugins: is a table, not an array of tables"},
		"not TOML":                   {"[", "1 is not TOML"},
		"limits as an array":         {conf("limits = []"), "3 plugins[0].limits: is an array, not a table"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := config.Parse("/etc/bulkhead.toml", []byte(c.text))
			for _, p := range ps.Errors() {
				if got := fmt.Sprintf("%d %s%s %s", p.Line, strings.TrimPrefix(p.Key+": ", ": "), p.What, p.Remedy); strings.Contains(got, c.want) {
					if strings.Contains(p.String(), "hush") {
						t.Errorf("says a variable's value: %s", p)
					}
					return
				}
			}
			t.Errorf("want %s\ngot  %v", c.want, ps)
		})
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, config.FileName)
	if _, ps := config.Load(file); len(ps) != 1 || ps[0].What != "there is no such file" || ps[0].Remedy == "" {
		t.Errorf("a missing file: %v", ps)
	}
	if _, ps := config.Load(dir); len(ps) != 1 || ps[0].What != "is not a regular file" {
		t.Errorf("a folder: %v", ps)
	}
	if err := os.WriteFile(file, []byte("[[plugins]]\npath = 'p'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, ps := config.Load(file)
	if len(ps) > 0 || len(c.Plugins) != 1 || c.Plugins[0].Path != filepath.Join(dir, "p") {
		t.Errorf("got %+v, %v", c, ps)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(conf("fs = [{path='/'}]\nenv = { 'a b' = '' }")))
	f.Add([]byte("plugins = [{ path = 'a' }, { path = 'a' }, 1]"))
	m := &manifest.Manifest{Name: "notes", Capabilities: manifest.Capabilities{Env: []string{"*"},
		FS: []manifest.FS{{Path: "${project}", Access: "rw"}}}, Tools: []manifest.Tool{{Name: "a", Write: true}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, ps := config.Parse("/etc/bulkhead.toml", data)
		if c == nil && ps.Err() == nil {
			t.Fatal("neither a config nor a problem")
		}
		if ps.Err() != nil {
			return
		}
		for _, p := range c.Plugins {
			if !filepath.IsAbs(p.Path) || p.Isolation == "" || p.Line == 0 {
				t.Errorf("incomplete: %+v", p)
			}
			m.Digest = p.SHA256
			g, _ := config.Decide(m, p, c.Defaults, places, config.Flags{})
			for _, mount := range g.FS {
				if !filepath.IsAbs(mount.Path) || filepath.Clean(mount.Path) != mount.Path {
					t.Errorf("mount %q", mount.Path)
				}
				if p.ReadOnly && mount.Access != manifest.Read && !mount.State {
					t.Errorf("writable although read_only: %q", mount.Path)
				}
			}
			if p.ReadOnly && len(g.Tools) > 0 {
				t.Error("a write tool although read_only")
			}
		}
	})
}
