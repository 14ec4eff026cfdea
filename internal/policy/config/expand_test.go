package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

type environ map[string]string

func (e environ) lookup(name string) (string, bool) { v, ok := e[name]; return v, ok }

func TestExpand(t *testing.T) {
	for name, c := range map[string]struct{ written, value, want string }{
		"a reference is its value":                  {"${env:V}", "x y", "x y"},
		"inside a literal":                          {"a-${env:V}-b", "x", "a-x-b"},
		"two of them":                               {"${env:V}${env:V}", "x", "xx"},
		"an empty value is set":                     {"a${env:V}", "", "a"},
		"an escape is a plain ${":                   {"$${env:V}", "x", "${env:V}"},
		"an escape of another name too":             {"$${HOME} and ${env:V}", "x", "${HOME} and x"},
		"a value is not expanded again":             {"${env:V}", "${env:V}", "${env:V}"},
		"nor with adjacent literals":                {"$$${env:V}", "x", "$${env:V}"},
		"an expanded value cannot form a reference": {"${env:V}{env:V}", "$", "${env:V}"},
		"a dollar alone stays":                      {"$5 ${env:V} $", "x", "$5 x $"},
		"quotes and line breaks are not parsed":     {"${env:V}", "\"\n[audit]", "\"\n[audit]"},
	} {
		t.Run(name, func(t *testing.T) {
			c1, ps := config.Parse("/etc/bulkhead.toml", []byte(conf("env = { A = '"+c.written+"', B = 'plain' }")))
			if ps.Err() != nil {
				t.Fatal(ps)
			}
			for range 2 { // the second call must change nothing
				if ps := config.Expand(c1, environ{"V": c.value}.lookup); len(ps) > 0 {
					t.Fatal(ps)
				}
			}
			check(t, "env", map[string]string{"A": c.want, "B": "plain"}, c1.Plugins[0].Env)
			if len(c1.Plugins[0].References) > 0 {
				t.Error("references were not expanded:", c1.Plugins[0].References)
			}
		})
	}
}

func TestExpandPaths(t *testing.T) {
	text := `[audit]
file = "${env:LOGS}/audit.jsonl"
[credentials.token]
file = "${env:HOME}/.token"
[[plugins]]
path = "${env:NAME}/notes"
fs = [{ path = "${project}/${env:NAME}", access = "r" }, { path = "${home}", access = "r" }]
git = [{ repo = "${env:HOME}//repo", access = "r" }]
http = [{ origin = "https://a", credential = "token" }]
[[plugins]]
path = "${env:HOME}/p/"
`
	c, ps := config.Parse(hostPath("/etc/b/bulkhead.toml"), []byte(text))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if ps := config.Expand(c, environ{"LOGS": hostPath("/var/log"), "HOME": hostPath("/home/me"), "NAME": "n"}.lookup); len(ps) > 0 {
		t.Fatal(ps)
	}
	p := c.Plugins[0]
	got := []string{c.Audit.File, p.HTTP[0].Credential.File, p.Path, p.FS[0].Path, p.FS[1].Path, p.Git[0].Repo, c.Plugins[1].Path}
	want := []string{"/var/log/audit.jsonl", "/home/me/.token", "/etc/b/n/notes", "${project}/n", "${home}", "/home/me/repo", "/home/me/p"}
	check(t, "paths", strings.Join(want, " "), strings.Join(got, " "))
}

func TestExpandRefuses(t *testing.T) {
	set := environ{"HUSH": "hush", "UP": "hush/../..", "VAR": "/${home}/hush", "ABS": hostPath("/hush"), "NUL": hostPath("/hush\x00"), "EMPTY": ""}
	for name, c := range map[string]struct{ text, want string }{
		"a variable that is not set":         {conf("env = { A = '${env:NONE}' }"), "3 plugins[0].env.A: the variable NONE is not set"},
		"a path that becomes empty":          {"[[plugins]]\npath = '${env:EMPTY}'", `2 plugins[0].path: "${env:EMPTY}", after expansion, is empty`},
		"one in a directory's path":          {conf("fs = [\n{ path = '${env:NONE}', access = 'r' }]"), "4 plugins[0].fs[0].path: the variable NONE is not set"},
		"one in a plugin's path":             {"[[plugins]]\npath = '${env:NONE}'", "2 plugins[0].path: the variable NONE is not set"},
		"one in the audit's file":            {"[audit]\nfile = '${env:NONE}'", "2 audit.file: the variable NONE is not set"},
		"one in a credential's file":         {"[credentials.a]\nfile = '${env:NONE}'", "1 credentials.a.file: the variable NONE is not set"},
		"a directory that becomes relative":  {conf("fs = [{ path = '${env:HUSH}', access = 'r' }]"), `3 plugins[0].fs[0].path: "${env:HUSH}", after expansion, is not absolute`},
		"a directory that gets ..":           {conf("fs = [{ path = '/${env:UP}', access = 'r' }]"), `contains ".."`},
		"a value that contains a variable":   {conf("fs = [{ path = '${env:VAR}', access = 'r' }]"), "the value of the variable VAR contains ${, which is not allowed in a path"},
		"a repository that becomes relative": {conf("git = [{ repo = '${env:HUSH}', access = 'r' }]"), "3 plugins[0].git[0].repo: "},
		"a file that becomes relative":       {"[audit]\nfile = '${env:HUSH}/x'", "2 audit.file: "},
		"a NUL byte in a path":               {conf("fs = [{ path = '${env:NUL}', access = 'r' }]"), "NUL contains a NUL byte"},
		"a duplicate directory":              {"[[plugins]]\npath = '/hush'\n[[plugins]]\npath = '${env:ABS}'", "4 plugins[1].path: is also the directory of the plugin in line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, ps := config.Parse("/etc/bulkhead.toml", []byte(onHost(c.text)))
			if ps.Err() != nil {
				t.Fatal(ps)
			}
			ps = config.Expand(cfg, set.lookup)
			if len(ps) != 1 || ps[0].Warning || ps[0].File != "/etc/bulkhead.toml" || !strings.Contains(fmt.Sprintf("%d %s: %s", ps[0].Line, ps[0].Key, ps[0].What), c.want) {
				t.Errorf("want %s\ngot  %v", c.want, ps)
			}
			if strings.Contains(ps.Error(), "hush") {
				t.Errorf("a problem contains a variable's value: %v", ps)
			}
		})
	}
}

func TestExpandBoundsTotalSize(t *testing.T) {
	c, ps := config.Parse("/etc/bulkhead.toml", []byte(conf("env = { A = '"+strings.Repeat("${env:V}", 200)+"' }")))
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	ps = config.Expand(c, environ{"V": strings.Repeat("x", 100<<10)}.lookup)
	if len(ps) != 1 || !strings.Contains(ps[0].What, "more than 16 MiB") {
		t.Errorf("%.300v", ps)
	}
}

func TestDecideReportsUnexpandedReferences(t *testing.T) {
	_, problems := decide{caps: "[capabilities]\nenv = ['A']", config: conf("env = { A = '${env:V}' }")}.run(t)
	check(t, "problems", []string{"error /etc/bulkhead.toml:3 plugins[0].env.A: has a reference to an environment variable that was not expanded"}, problems)
}

// FuzzExpand checks that Expand leaves no reference and only absolute paths, and that it is idempotent.
func FuzzExpand(f *testing.F) {
	f.Add("${env:V}", "x")
	f.Add("/a/$${env:V}/${env:V}", "/../")
	f.Add("${project}/${env:V}", "${env:V}")
	f.Add("$$${${env:V}", "$")
	f.Fuzz(func(t *testing.T, written, value string) {
		p := config.Plugin{Path: "p"}
		p.Env = map[string]string{"A": written}
		data, err := addPlugin("/etc/bulkhead.toml", nil, p)
		if err != nil {
			return
		}
		more, err := addPlugin("/etc/bulkhead.toml", data, config.Plugin{Path: written})
		if err == nil {
			data = more
		}
		c, ps := config.Parse("/etc/bulkhead.toml", data)
		if ps.Err() != nil {
			t.Fatal(ps)
		}
		env := environ{"V": value}
		if ps := config.Expand(c, env.lookup); ps.Err() != nil {
			return
		}
		for _, p := range c.Plugins {
			if !filepath.IsAbs(p.Path) || filepath.Clean(p.Path) != p.Path || len(p.References) > 0 {
				t.Errorf("%+v", p)
			}
		}
		before := c.Plugins[0].Env["A"]
		if ps := config.Expand(c, env.lookup); len(ps) > 0 || c.Plugins[0].Env["A"] != before {
			t.Errorf("a second Expand changes %q to %q: %v", before, c.Plugins[0].Env["A"], ps)
		}
		if !strings.Contains(written, "${") && before != written {
			t.Errorf("%q is expanded to %q", written, before)
		}
		if diff := cmp.Diff(1, len(c.Plugins[0].Env)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSettingsHaveReferences writes tables with paths that have references. Their values may be secret, and differ between machines.
func TestSettingsHaveReferences(t *testing.T) {
	const keys = "fs = [\n    { path = \"${env:V}/a\", access = \"r\" },\n    { path = \"/b\", access = \"r\" },\n]\ngit = [{ repo = \"${env:V}/c\", access = \"r\" }]\n"
	c, ps := config.Parse("/etc/bulkhead.toml", []byte(conf(keys)))
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	if ps := config.Expand(c, environ{"V": hostPath("/home/me")}.lookup); len(ps) > 0 || c.Plugins[0].FS[0].Path != hostPath("/home/me")+"/a" {
		t.Fatal(ps, c.Plugins[0].FS)
	}
	got := config.Settings(config.Plugin{FS: c.Plugins[0].FS, Git: c.Plugins[0].Git})
	if !strings.Contains(got, `"${env:V}/a"`) || !strings.Contains(got, `"${env:V}/c"`) || strings.Contains(got, "me") {
		t.Errorf("got %s", got)
	}
}
