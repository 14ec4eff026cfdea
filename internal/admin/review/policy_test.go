package review_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

const wide = `write = "opt-in"
---
[capabilities]
fs = [{ path = "${project}", access = "rw" }, { path = "/srv", access = "r" }]
git = [{ repo = "${project}", access = "rw" }]
http = ["https://a.example", "https://b.example", "http://127.0.0.1:8765"]
env = ["TOKEN", "USER"]
[limits]
time = "10m"
files = 9
[offers]
prompts = ["p"]
resources = true
[[tools]]
name = "get"
description = "x"
access = "read"
[[tools]]
name = "put"
description = "x"
access = "write"
`

// subject returns the manifest called wide with the grant that it gets from a config. The config consists of defaults and a plugin's
// table. If table is empty, there is no config.
func subject(t *testing.T, defaults, table string, flags config.Flags) review.Subject {
	t.Helper()
	s := review.Subject{Manifest: parse(t, wide), Places: places, FlagEnv: flags.Env}
	s.Entry = config.Plugin{Path: "/plugins/notes"}
	if table != "" {
		c, problems := config.Parse("/etc/bulkhead.toml", []byte(defaults+"[[plugins]]\npath = \"/plugins/notes\"\n"+table))
		if problems.Err() != nil {
			t.Fatal(problems)
		}
		s.Config, s.Entry, s.Defaults = "/etc/bulkhead.toml", c.Plugins[0], c.Defaults
	}
	grant, problems := config.Decide(s.Manifest, s.Entry, s.Defaults, places, flags)
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	s.Grant = grant
	return s
}

// lines formats each grant of a policy as a line. It omits limits that have their default.
func lines(p review.Policy) []string {
	var out []string
	for _, t := range p.Tools {
		out = append(out, fmt.Sprintf("tool %s %s %v: %s", t.Name, t.Access, t.Offered, t.By))
	}
	for _, list := range []struct {
		of     string
		grants []review.Grant
	}{{"directory", p.Folders}, {"hidden", p.Hidden}, {"repository", p.Repositories}, {"origin", p.Origins}, {"variable", p.Variables}} {
		for _, g := range list.grants {
			out = append(out, fmt.Sprintf("%s %s %s%s: %s", list.of, g.What, g.Access, g.More, g.By))
		}
	}
	for _, l := range p.Limits {
		if l.By != "the default" && l.By != "no limit is set" {
			out = append(out, fmt.Sprintf("limit %s %s: %s", l.Key, l.Value, l.By))
		}
	}
	for _, n := range p.Names {
		out = append(out, fmt.Sprintf("%s allow %q deny %q", n.Of, n.Allow, n.Deny))
	}
	return append(out, p.Isolation)
}

func TestEffective(t *testing.T) {
	for name, c := range map[string]struct {
		defaults, table string
		flags           config.Flags
		want            []string
	}{
		"without a config": {
			flags: config.Flags{AllowWrite: true, Env: map[string]string{"TOKEN": "secret"}},
			want: []string{"tool get read true: nothing withholds it: there is no config",
				"tool put write true: nothing withholds it: there is no config; its plugin requires an opt-in to write, which is --allow-write",
				"directory /home/me/work rw: plugin.toml:10 asks for it, and it lies in the project", "directory /home/me/.state/notes rw: every plugin has its own state directory",
				"repository /home/me/work r: plugin.toml:11 asks for it, and it lies in the project; writing requires git with access = \"rw\" in a config",
				"variable TOKEN : --env",
				"limit time 5m0s: the maximum without a config setting; plugin.toml asks for 10m0s", "limit files 9: limits of plugin.toml", "pristine"},
		},
		"with an empty table": {
			table: "allow_write = false\n",
			want: []string{"tool get read true: nothing withholds it (bulkhead.toml:1)",
				"tool put write false: writes: pass --allow-write or set allow_write = true",
				"directory /home/me/work rw: plugin.toml:10 asks for it, and the config has no fs for the plugin (bulkhead.toml:1)",
				"directory /srv r: plugin.toml:10 asks for it, and the config has no fs for the plugin (bulkhead.toml:1)",
				"directory /home/me/.state/notes rw: every plugin has its own state directory",
				"repository /home/me/work r: plugin.toml:11 asks for it, and the config has no git for the plugin (bulkhead.toml:1); writing requires git with access = \"rw\" in a config",
				"origin https://a.example : plugin.toml:12 asks for it, and the config has no http for the plugin (bulkhead.toml:1)",
				"origin https://b.example : plugin.toml:12 asks for it, and the config has no http for the plugin (bulkhead.toml:1)",
				"origin http://127.0.0.1:8765 : plugin.toml:12 asks for it, and the config has no http for the plugin (bulkhead.toml:1)",
				"limit time 5m0s: the maximum without a config setting; plugin.toml asks for 10m0s", "limit files 9: limits of plugin.toml", "pristine"},
		},
		"with a full table": {
			defaults: "[defaults]\ndeny = [\"**/.env\"]\n[defaults.limits]\ntime = \"2s\"\n[credentials.c]\nenv = \"C\"\n",
			table: "prefix = \"x_\"\nallow_tools = [\"nothing*\", \"g*\", \"put\"]\ndeny_tools = [\"put\"]\nread_only = true\ndeny = [\"private/**\"]\nfs = [\n{ path = \"/home/me/work/a\", access = \"rw\" }]\n" +
				"git = [{ repo = \"/home/me/work/a\", access = \"rw\" }]\nhttp = [\"https://b.example\", { origin = \"https://a.example\", private = true, credential = \"c\" }]\n" +
				"env = { USER = \"me\" }\nisolation = \"reused\"\nlimits = { files = 8, fuel = 5 }\nallow_prompts = [\"p\"]\ndeny_resources = [\"r://*\"]\n",
			want: []string{"tool x_get read true: allow_tools has \"g*\" (bulkhead.toml:10)", "tool x_put write false: denied by deny_tools \"put\" (bulkhead.toml:11)",
				"directory /home/me/work/a r: fs (bulkhead.toml:15); reduced to reading by read_only (bulkhead.toml:12)", "directory /home/me/.state/notes rw: every plugin has its own state directory",
				"hidden **/.env : defaults.deny (bulkhead.toml)", "hidden private/** : deny (bulkhead.toml:13)",
				"repository /home/me/work/a r: git (bulkhead.toml:16); reduced to reading by read_only (bulkhead.toml:12)",
				"origin https://b.example : http (bulkhead.toml:17)", "origin https://a.example private, with the credential c: http (bulkhead.toml:17)",
				"variable USER : env (bulkhead.toml:18)",
				"limit time 2s: defaults.limits (bulkhead.toml)", "limit fuel 5: limits (bulkhead.toml:20)", "limit files 8: limits (bulkhead.toml:20)",
				"prompts allow [\"p\"] deny []", "resources allow [] deny [\"r://*\"]", "reused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(review.Effective(subject(t, c.defaults, c.table, c.flags)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPublicWebIsExplained checks what is shown of the public web, and the answers to questions about an origin of it.
func TestPublicWebIsExplained(t *testing.T) {
	const request = "---\n[capabilities]\nhttp = [\"public-web\"]\n"
	const granted = "http = [\"public-web\"]\n"
	for name, c := range map[string]struct{ table, ceiling, origin, want string }{
		"a public server":  {granted, "", "https://a.example", "true: http (bulkhead.toml:3); refused if the name resolves to this machine or its network, because the grant does not have private = true"},
		"another port":     {granted, "", "https://a.example:8443", "false: notes does not ask for it, so nothing can grant it"},
		"this machine":     {granted, "", "http://localhost", "false: localhost is not a public address, and the public web is all that http (bulkhead.toml:3) grants"},
		"a shared address": {granted, "", "http://100.64.0.1", "false: 100.64.0.1 is not a public address, and the public web is all that http (bulkhead.toml:3) grants"},
		"without a grant": {"read_only = true\n", "", "https://a.example",
			"false: notes asks for the public web, and gets it from a config that says so: write http = [\"public-web\"] for the plugin in bulkhead.toml"},
		"without a config":        {"", "", "https://a.example", "false: only a config file can grant a web server: write http = [\"https://a.example\"] for the plugin in bulkhead.toml"},
		"with an empty list":      {"http = []\n", "", "https://a.example", "false: not in http (bulkhead.toml:3): add \"https://a.example\" there"},
		"denied by the ceiling":   {granted, "http = ['https://b.example']", "https://a.example", "false: only origins that are in ceiling.http (/c:2) are"},
		"narrowed by the ceiling": {granted, "http = ['https://b.example']", "https://b.example", "true: http (bulkhead.toml:3); refused if the name resolves to this machine or its network, because the grant does not have private = true"},
	} {
		t.Run(name, func(t *testing.T) {
			s := review.Subject{Manifest: parse(t, request), Places: places, Entry: config.Plugin{Path: "/plugins/notes"}}
			if c.table != "" {
				cfg, problems := config.Parse("/etc/bulkhead.toml", []byte("[[plugins]]\npath = \"/plugins/notes\"\n"+c.table))
				if problems.Err() != nil {
					t.Fatal(problems)
				}
				s.Config, s.Entry = "/etc/bulkhead.toml", cfg.Plugins[0]
			}
			var problems tomlfile.Problems
			if s.Grant, problems = config.Decide(s.Manifest, s.Entry, s.Defaults, places, config.Flags{}); problems.Err() != nil {
				t.Fatal(problems)
			}
			if c.ceiling != "" {
				ceiling, problems := config.ParseCeiling("/c", []byte("[ceiling]\n"+c.ceiling))
				if problems.Err() != nil {
					t.Fatal(problems)
				}
				s.Grant, _ = ceiling.Narrow(s.Manifest, s.Entry, places, s.Grant)
			}
			o, err := origin.Parse(c.origin)
			if err != nil {
				t.Fatal(err)
			}
			if a := s.Origin(o); fmt.Sprintf("%t: %s", a.Allowed, a.Why) != c.want {
				t.Errorf("got %t: %s, want %s", a.Allowed, a.Why, c.want)
			}
			if shown := review.Effective(s).Origins; c.table == granted && c.ceiling == "" &&
				(len(shown) != 1 || shown[0].What != "public-web" || shown[0].More != "any public web server (http on port 80, https on port 443)") {
				t.Errorf("shown as %+v", shown)
			}
		})
	}
}

func TestSubjectAnswers(t *testing.T) {
	some := "http = [\"https://b.example\"]\nenv = { USER = \"me\" }\n"
	for name, c := range map[string]struct {
		table, origin, variable string
		want                    review.Answer
	}{
		"a server that is granted": {some, "https://B.example", "", review.Answer{Asked: "https://b.example", Allowed: true,
			Why: "http (bulkhead.toml:3); refused if the name resolves to this machine or its network, because the grant does not have private = true"}},
		"a requested server that the config omits": {some, "https://a.example", "", review.Answer{Asked: "https://a.example",
			Why: "not in http (bulkhead.toml:3): add \"https://a.example\" there"}},
		"a requested server on this machine": {some, "http://127.0.0.1:8765", "", review.Answer{Asked: "http://127.0.0.1:8765",
			Why: "not in http (bulkhead.toml:3): add { origin = \"http://127.0.0.1:8765\", private = true } there"}},
		"an unrequested server": {some, "https://c.example", "", review.Answer{Asked: "https://c.example",
			Why: "notes does not ask for it, so nothing can grant it"}},
		"another port": {some, "https://b.example:8443", "", review.Answer{Asked: "https://b.example:8443", Why: "notes does not ask for it, so nothing can grant it"}},
		"a server without a config": {"", "https://a.example", "", review.Answer{Asked: "https://a.example",
			Why: "only a config file can grant a web server: write http = [\"https://a.example\"] for the plugin in bulkhead.toml"}},
		"a variable with a value": {some, "", "USER", review.Answer{Asked: "USER", Allowed: true, Why: "env (bulkhead.toml:4)"}},
		"a variable without a value": {some, "", "TOKEN", review.Answer{Asked: "TOKEN",
			Why: "it has no value: pass --env TOKEN, or write env = { TOKEN = \"…\" } for the plugin in bulkhead.toml"}},
		"an unrequested variable":  {some, "", "HOME", review.Answer{Asked: "HOME", Why: "notes does not ask for it, so nothing can grant it"}},
		"a variable of the host's": {some, "", "PWD", review.Answer{Asked: "PWD", Allowed: true, Why: "the host sets it for every plugin"}},
		"a reserved variable":      {some, "", "BULKHEAD_X", review.Answer{Asked: "BULKHEAD_X", Why: "such names are reserved for the host"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t, "", c.table, config.Flags{})
			var got review.Answer
			if c.variable != "" {
				got = s.Variable(c.variable)
			} else {
				o, err := origin.Parse(c.origin)
				if err != nil {
					t.Fatal(err)
				}
				got = s.Origin(o)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
