package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

var places = config.Places{Project: hostPath("/home/me/work"), Cwd: hostPath("/home/me/work/sub"), Home: hostPath("/home/me"), State: hostPath("/home/me/.state"),
	NoProject: "pass --project"}

// decide has the arguments of a call of Decide: parts of a manifest named "notes", and a config. If config is empty, there is
// no config file.
type decide struct {
	plugin string // additional keys of the manifest's [plugin]
	caps   string // [capabilities] and other tables of the manifest
	tools  string // tool names; an upper-case letter means access = "write", a hyphen at the end means alone = false
	config string
	flags  config.Flags
	places *config.Places
	// ceiling narrows the grant; empty: there is no ceiling
	ceiling string
}

func (d decide) run(t *testing.T) (config.Grant, []string) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "manifest = 1\n[plugin]\nname = \"notes\"\nversion = \"1.0.0\"\ndescription = \"x\"\n%s\n[module]\nfile = \"m.wasm\"\n%s\n",
		d.plugin, d.caps)
	for _, name := range strings.Fields(d.tools) {
		access := "read"
		if strings.ToLower(name) != name {
			access = "write"
		}
		bare := strings.TrimSuffix(name, "-")
		fmt.Fprintf(&text, "[[tools]]\nname = %q\ndescription = \"x\"\naccess = %q\nalone = %v\n", bare, access, bare == name)
	}
	m, ps := manifest.Parse(hostPath("/p/plugin.toml"), []byte(onHost(text.String())))
	if ps.Err() != nil {
		t.Fatalf("manifest: %v", ps)
	}
	var plugin config.Plugin
	var defaults config.Defaults
	if d.config != "" {
		c, ps := config.Parse("/etc/bulkhead.toml", []byte(onHost(d.config)))
		if ps.Err() != nil {
			t.Fatalf("config: %v", ps)
		}
		plugin, defaults = c.Plugins[0], c.Defaults
	}
	at := places
	if d.places != nil {
		at = *d.places
	}
	g, ps := config.Decide(m, plugin, defaults, at, d.flags)
	if d.ceiling != "" {
		c, problems := config.ParseCeiling("/etc/bulkhead/bulkhead.toml", []byte(onHost(d.ceiling)))
		if problems.Err() != nil {
			t.Fatalf("ceiling: %v", problems)
		}
		c.Home = hostPath("/home/me")
		g, problems = c.Narrow(m, plugin, at, g)
		ps = append(ps, problems...)
	}
	ps = append(ps, config.CheckCount(plugin, g)...)
	var out []string
	for _, p := range ps {
		kind := "error"
		if p.Warning {
			kind = "warning"
		}
		out = append(out, plain(fmt.Sprintf("%s %s:%d %s: %s", kind, p.File, p.Line, p.Key, p.What)))
	}
	return g, out
}

// conf returns a config with one plugin, whose table has the given keys. They begin in line 3.
func conf(keys string) string { return "[[plugins]]\npath = \"p\"\n" + keys }

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if text, ok := got.(string); ok {
		got = plain(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestDecideTools(t *testing.T) {
	for name, c := range map[string]struct {
		decide
		granted  string
		withheld string // "name: reason" for each withheld tool, joined by |
		problems string
	}{
		"without a config all tools are granted": {decide{tools: "list Add"}, "list Add", "", ""},
		"a glob allows what it matches": {decide{tools: "a_x a_y b_x", config: conf(`allow_tools = ["a_*"]`)}, "a_x a_y",
			`b_x: not in allow_tools (bulkhead.toml:3): add "b_x" there`, ""},
		"a question mark is one character": {decide{tools: "a ab", config: conf(`allow_tools = ["a?"]`)}, "ab",
			`a: not in allow_tools (bulkhead.toml:3): add "a" there`, ""},
		"an empty list allows nothing": {decide{tools: "a", config: conf(`allow_tools = []`)}, "",
			`a: not in allow_tools (bulkhead.toml:3): add "a" there`, ""},
		"deny wins": {decide{tools: "a b", config: conf("allow_tools = ['*']\ndeny_tools = ['b']")}, "a",
			`b: denied by deny_tools "b" (bulkhead.toml:4)`, ""},
		"a star matches any characters":  {decide{tools: "a_b-c", config: conf(`allow_tools = ["a*c"]`)}, "a_b-c", "", ""},
		"a name with a dot is a warning": {decide{tools: "a.b"}, "a.b", "", `warning /p/plugin.toml:10 tools.name: "a.b" is a tool name that some clients refuse`},
		"a prefix that makes a name longer than clients accept is a warning": {decide{tools: strings.Repeat("b", 63), config: conf("prefix = 'x_'")},
			strings.Repeat("b", 63), "", `warning /etc/bulkhead.toml:3 plugins[0].prefix: makes "x_` + strings.Repeat("b", 63) + `" a tool name that some clients refuse`},
		"an exact name of no tool is an error": {decide{tools: "a b", config: conf("allow_tools = ['a', 'c']")}, "a", `b: not in allow_tools (bulkhead.toml:3): add "b" there`,
			`error /etc/bulkhead.toml:3 plugins[0].allow_tools[1]: notes has no tool "c"; its tools are a, b`},
		"patterns match names without the prefix": {decide{tools: "a b", config: conf("prefix = 'x_'\nallow_tools = ['a']")}, "a",
			`b: not in allow_tools (bulkhead.toml:4): add "b" there`, ""},
		"a prefix that makes a name too long is refused": {decide{tools: "a " + strings.Repeat("b", 128), config: conf("prefix = 'x_'\ndeny_tools = ['a']")},
			strings.Repeat("b", 128), `a: denied by deny_tools "a" (bulkhead.toml:4)`,
			`error /etc/bulkhead.toml:3 plugins[0].prefix: makes "` + strings.Repeat("b", 80) + `"… an invalid tool name`},
		"a pattern that matches nothing is a warning": {decide{tools: "a b", config: conf("deny_tools = ['c*']")}, "a b", "",
			`warning /etc/bulkhead.toml:3 plugins[0].deny_tools[0]: "c*" matches no tool of notes; its tools are a, b`},
		"read_only withholds write tools": {decide{tools: "a B", config: conf("read_only = true")}, "a",
			"B: writes, but the config sets read_only (bulkhead.toml:3)", ""},
		"read_only wins over --allow-write": {decide{tools: "a B", config: conf("read_only = true"), flags: config.Flags{AllowWrite: true}}, "a",
			"B: writes, but the config sets read_only (bulkhead.toml:3)", ""},
		"opt-in withholds write tools": {decide{plugin: "write = 'opt-in'", tools: "a B"}, "a",
			"B: writes: pass --allow-write or set allow_write = true", ""},
		"--allow-write opts in": {decide{plugin: "write = 'opt-in'", tools: "a B", flags: config.Flags{AllowWrite: true}}, "a B", "", ""},
		"allow_write opts in":   {decide{plugin: "write = 'opt-in'", tools: "a B", config: conf("allow_write = true")}, "a B", "", ""},
		"a hidden tool is withheld alone": {decide{tools: "a b-", flags: config.Flags{Alone: true}}, "a",
			"b: is not offered when its plugin is served alone: pass --all-tools", ""},
		"the name of the host's own tool is withheld": {decide{tools: "bulkhead_setup a"}, "a",
			`bulkhead_setup: "bulkhead_setup" is the name of the host's own tool: rename the tool, or set another prefix`, ""},
		"a prefix that makes the name of the host's own tool": {decide{tools: "setup a", config: conf("prefix = 'bulkhead_'\nallow_tools = ['setup']")}, "",
			`setup: "bulkhead_setup" is the name of the host's own tool: rename the tool, or set another prefix|a: not in allow_tools (bulkhead.toml:4): add "a" there`, ""},
		"a prefix that changes the name of the host's own tool": {decide{tools: "bulkhead_setup", config: conf("prefix = 'x_'")}, "bulkhead_setup", "", ""},
		"a hidden tool is granted among others":                 {decide{tools: "a b-"}, "a b", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			var granted, withheld []string
			for _, tool := range g.Tools {
				granted = append(granted, tool.Name)
			}
			for _, w := range g.Withheld {
				withheld = append(withheld, w.Tool.Name+": "+w.Why)
			}
			check(t, "granted", c.granted, strings.Join(granted, " "))
			check(t, "withheld", c.withheld, strings.Join(withheld, "|"))
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func fs(entries ...string) string {
	var b strings.Builder
	for _, e := range entries {
		f := strings.Fields(e)
		fmt.Fprintf(&b, "[[capabilities.fs]]\npath = %q\naccess = %q\noptional = %v\n", f[0], f[1], len(f) > 2)
	}
	return b.String()
}

func TestDecideDirectories(t *testing.T) {
	const state = "rw! /home/me/.state/notes"
	noProject := places
	noProject.Project = ""
	noHome := places
	noHome.Home = ""
	noState := places
	noState.State, noState.NoState = "", "chmod it"
	nowhere := places
	nowhere.State = ""
	for name, c := range map[string]struct {
		decide
		mounts   string
		leftOut  string
		problems string
	}{
		"a plugin without requests has its state directory":              {decide{}, state, "", ""},
		"without a config the project is granted as asked":               {decide{caps: fs("${project} rw")}, "rw /home/me/work," + state, "", ""},
		"without a config a directory in the project is granted":         {decide{caps: fs("${project}/.notes r")}, "r /home/me/work/.notes," + state, "", ""},
		"without a config a working directory in the project is granted": {decide{caps: fs("${cwd} r")}, "r /home/me/work/sub," + state, "", ""},
		"without a config an absolute path in the project is granted":    {decide{caps: fs("/home/me/work/x r")}, "r /home/me/work/x," + state, "", ""},
		"without a config a directory elsewhere is dropped with a warning": {decide{caps: fs("${home}/.codex r")}, state, "",
			"warning /p/plugin.toml:9 capabilities.fs[0].path: asks for ${home}/.codex, which only a config file can grant"},
		"a sibling with the project's name as prefix is outside": {decide{caps: fs("/home/me/workshop r")}, state, "",
			"warning /p/plugin.toml:9 capabilities.fs[0].path: asks for /home/me/workshop, which only a config file can grant"},
		"an optional directory outside is dropped without a warning": {decide{caps: fs("${home}/.codex r optional")}, state, "", ""},
		"with a config the manifest's directories are granted":       {decide{caps: fs("${home}/.codex r"), config: conf("")}, "r /home/me/.codex," + state, "", ""},
		"the home directory is not granted by a config that does not name it": {decide{caps: fs("${home} r"), config: conf("")}, state, "",
			"warning /p/plugin.toml:9 capabilities.fs[0].path: asks for ${home}, which is granted only if a config file names it"},
		"the root is not granted by a config that does not name it": {decide{caps: fs("/ r"), config: conf("")}, state, "",
			"warning /p/plugin.toml:9 capabilities.fs[0].path: asks for /, which is granted only if a config file names it"},
		"an ancestor of the home directory is not granted by a config that does not name it": {decide{caps: fs("/home r"), config: conf("")}, state, "",
			"warning /p/plugin.toml:9 capabilities.fs[0].path: asks for /home, which is granted only if a config file names it"},
		"a config that names the home directory grants it with a warning": {decide{caps: fs("${project} r"), config: conf(`fs = [{ path = "${home}", access = "r" }]`)},
			"r /home/me," + state, "", "warning /etc/bulkhead.toml:3 plugins[0].fs[0].path: grants all of /home/me"},
		"the config's directories replace the manifest's": {decide{caps: fs("${project} rw"), config: conf(`fs = [{ path = "/data", access = "r" }]`)},
			"r /data," + state, "", ""},
		"an empty list grants none": {decide{caps: fs("${project} rw"), config: conf(`fs = []`)}, state, "", ""},
		"more access than requested is refused": {decide{caps: fs("${project} r"), config: conf(`fs = [{ path = "/data", access = "rw" }]`)}, state, "",
			`error /etc/bulkhead.toml:3 plugins[0].fs[0].access: notes asks for no more than access = "r"`},
		"the highest requested access is the bound": {decide{caps: fs("${project} r", "${home}/x rw"), config: conf(`fs = [{ path = "/data", access = "rw" }]`)},
			"rw /data," + state, "", ""},
		"a directory for a plugin that requests none is refused": {decide{config: conf(`fs = [{ path = "/data", access = "r" }]`)}, state, "",
			"error /etc/bulkhead.toml:3 plugins[0].fs: notes asks for no directory"},
		"read_only leaves only the state directory writable": {decide{caps: fs("${project} rw"), config: conf("read_only = true")},
			"r /home/me/work," + state, "", ""},
		"duplicate grants of a directory have the higher access": {decide{caps: fs("${project} r", "/home/me/work/ rw")}, "rw /home/me/work," + state, "", ""},
		"directories inside each other stay":                     {decide{caps: fs("${project} r", "${project}/a rw")}, "r /home/me/work,rw /home/me/work/a," + state, "", ""},
		"the state directory is the plugin's own":                {decide{caps: fs("${state} r", "${state}/x r")}, state, "", ""},
		"without a project a plugin that needs it is left out": {decide{caps: fs("${project} r"), places: &noProject}, state,
			"it needs ${project}: pass --project", ""},
		"without a project a plugin for which it is optional is offered": {decide{caps: fs("${project} r optional"), places: &noProject}, state, "", ""},
		"without a project a config's ${project} leaves the plugin out": {decide{caps: fs("/x r"), places: &noProject,
			config: conf(`fs = [{ path = "${project}", access = "r" }]`)}, state, "its config grants ${project}: pass --project", ""},
		"without a project a config with directories of its own offers the plugin": {decide{caps: fs("${project} r"), places: &noProject,
			config: conf(`fs = [{ path = "/data", access = "r" }]`)}, "r /data," + state, "", ""},
		"without state a plugin that needs it is left out":           {decide{caps: fs("${state} rw"), places: &noState}, "", "it needs ${state}: chmod it", ""},
		"without state a plugin for which it is optional is offered": {decide{caps: fs("${state} rw optional"), places: &noState}, "", "", ""},
		"without state a config's ${state} leaves the plugin out": {decide{caps: fs("/x r"), places: &noState, config: conf(`fs = [{ path = "${state}", access = "r" }]`)}, "",
			"its config grants ${state}: chmod it", ""},
		"without a location for state a config's ${state} is refused": {decide{caps: fs("/x r"), places: &nowhere, config: conf(`fs = [{ path = "${state}", access = "r" }]`)}, "", "",
			`error /etc/bulkhead.toml:3 plugins[0].fs[0].path: "${state}" has an unset variable`},
		"the first reason to leave a plugin out is kept":                  {decide{caps: fs("${project}/a r", "${project}/b r"), places: &noProject}, state, "it needs ${project}/a: pass --project", ""},
		"the access of a config's directory is at most what is requested": {decide{caps: fs("/x rw"), config: conf(`fs = [{ path = "/x", access = "r" }]`)}, "r /x," + state, "", ""},
		"a directory that is granted twice has the wider access":          {decide{caps: fs("/x rw"), config: conf(`fs = [{ path = "/x", access = "rw" }, { path = "/x", access = "r" }]`)}, "rw /x," + state, "", ""},
		"a config's directory beside one that is refused": {decide{caps: fs("/x r"), config: conf(`fs = [{ path = "/x", access = "rw" }, { path = "/y", access = "r" }]`)}, "r /y," + state, "",
			`error /etc/bulkhead.toml:3 plugins[0].fs[0].access: notes asks for no more than access = "r"`},
		"without a home directory its subdirectories are dropped": {decide{caps: fs("${home}/x r"), places: &noHome, config: conf("")}, state, "",
			"warning /p/plugin.toml:9 capabilities.fs[0].path: asks for ${home}/x, whose variable is unset"},
		"without a home directory a config that names it is refused": {decide{caps: fs("${home}/x r"), places: &noHome,
			config: conf(`fs = [{ path = "${home}/x", access = "r" }]`)}, state, "",
			`error /etc/bulkhead.toml:3 plugins[0].fs[0].path: "${home}/x" has an unset variable`},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			var mounts []string
			for _, m := range g.FS {
				mark := ""
				if m.State {
					mark = "!"
				}
				mounts = append(mounts, string(m.Access)+mark+" "+m.Path)
			}
			check(t, "mounts", c.mounts, strings.Join(mounts, ","))
			check(t, "left out", c.leftOut, g.LeftOut)
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func project(access string) string {
	return "[capabilities]\ngit = [{ repo = '${project}', access = '" + access + "' }]"
}

// A plugin that asks for its state directory keeps there what matters, unless it may only read.
func TestStateThatMatters(t *testing.T) {
	noState := places
	noState.State = ""
	for name, c := range map[string]struct {
		decide
		want bool
	}{
		"a plugin that asks for no directory":      {decide{}, false},
		"one that asks for another one":            {decide{caps: fs("${project} rw"), config: conf("")}, false},
		"one that asks for it":                     {decide{caps: fs("${state} rw")}, true},
		"one that asks for a part of it":           {decide{caps: fs("${project} r", "${state}/graph rw")}, true},
		"one that asks for it by its path":         {decide{caps: fs("/home/me/.state/notes rw"), config: conf("")}, true},
		"one that asks to read it":                 {decide{caps: fs("${state} r")}, false},
		"one whose config grants it":               {decide{caps: fs("${project} rw"), config: conf("fs = [{ path = '${state}', access = 'rw' }]")}, true},
		"one whose config grants other ones":       {decide{caps: fs("${state} rw"), config: conf("fs = [{ path = '${project}', access = 'rw' }]")}, true},
		"one that may only read":                   {decide{caps: fs("${state} rw"), config: conf("read_only = true")}, false},
		"one that may only read by a ceiling":      {decide{caps: fs("${state} rw"), ceiling: all("read_only = true")}, false},
		"a ceiling that withholds directories":     {decide{caps: fs("${state} rw"), ceiling: all("fs = []")}, true},
		"one that asks for it where there is none": {decide{caps: fs("${state} rw"), places: &noState}, false},
	} {
		if g, problems := c.run(t); g.KeepsState != c.want {
			t.Errorf("%s: got %t: %v", name, g.KeepsState, problems)
		}
	}
}

func TestDecideRepositories(t *testing.T) {
	noProject := places
	noProject.Project = ""
	noHome := places
	noHome.Home = ""
	for name, c := range map[string]struct {
		decide
		repos, leftOut, problems string
	}{
		"the project's repository is granted to read": {decide{caps: project("r")}, "r /home/me/work", "", ""},
		"writing requires the config": {decide{caps: project("rw"), config: conf("")}, "r /home/me/work", "",
			"warning /p/plugin.toml:10 capabilities.git[0].access: asks for write access, which only access = \"rw\" in a config file grants"},
		"read_only suppresses that warning": {decide{caps: project("rw"), config: conf("read_only = true")}, "r /home/me/work", "", ""},
		"the config can grant writing":      {decide{caps: project("rw"), config: conf("git = [{ repo = '${project}', access = 'rw' }]")}, "rw /home/me/work", "", ""},
		"read_only overrides that": {decide{caps: project("rw"), config: conf("read_only = true\ngit = [{ repo = '${project}', access = 'rw' }]")},
			"r /home/me/work", "", ""},
		"writing that is not requested is refused": {decide{caps: project("r"), config: conf("git = [{ repo = '${project}', access = 'rw' }]")}, "", "",
			`error /etc/bulkhead.toml:3 plugins[0].git[0].access: notes asks for no more than access = "r"`},
		"commits require the config": {decide{caps: project("commit"), config: conf("")}, "r /home/me/work", "",
			"warning /p/plugin.toml:10 capabilities.git[0].access: asks for write access, which only access = \"commit\" in a config file grants"},
		"the config can grant commits":       {decide{caps: project("commit"), config: conf("git = [{ repo = '${project}', access = 'commit' }]")}, "commit /home/me/work", "", ""},
		"the config can grant branches only": {decide{caps: project("commit"), config: conf("git = [{ repo = '${project}', access = 'rw' }]")}, "rw /home/me/work", "", ""},
		"read_only overrides commits": {decide{caps: project("commit"), config: conf("read_only = true\ngit = [{ repo = '${project}', access = 'commit' }]")},
			"r /home/me/work", "", ""},
		"commits that are not requested are refused": {decide{caps: project("rw"), config: conf("git = [{ repo = '${project}', access = 'commit' }]")}, "", "",
			`error /etc/bulkhead.toml:3 plugins[0].git[0].access: notes asks for no more than access = "rw"`},
		"duplicate grants have the higher access, commits": {decide{caps: project("commit"),
			config: conf("git = [{ repo = '${project}', access = 'commit' }, { repo = '/home/me/work', access = 'rw' }]")}, "commit /home/me/work", "", ""},
		"an empty list for a plugin that requests none is valid": {decide{config: conf("git = []")}, "", "", ""},
		"without a home directory a config's repository there is refused": {decide{caps: "[capabilities]\ngit = [{ repo = '*', access = 'r' }]", places: &noHome, config: conf("git = [{ repo = '${home}/r', access = 'r' }]")}, "", "",
			`error /etc/bulkhead.toml:3 plugins[0].git[0].repo: "${home}/r" has an unset variable`},
		"without a home directory a request for a repository there is dropped": {decide{caps: "[capabilities]\ngit = [{ repo = '${home}/r', access = 'r' }]", places: &noHome, config: conf("")}, "", "",
			"warning /p/plugin.toml:10 capabilities.git[0].repo: asks for the repository ${home}/r, whose variable is unset"},
		"the state directory does not grant a repository": {decide{caps: "[capabilities]\ngit = [{ repo = '/home/me/.state/notes/r', access = 'r' }]", config: conf("fs = []")}, "", "",
			"warning /p/plugin.toml:10 capabilities.git[0].repo: asks for the repository /home/me/.state/notes/r, which lies in none of the granted directories"},
		"an empty list grants no repository": {decide{caps: project("r"), config: conf("git = []")}, "", "", ""},
		"a repository that is not requested is refused": {decide{caps: project("r"), config: conf("git = [{ repo = '/srv/r', access = 'r' }]")}, "", "",
			"error /etc/bulkhead.toml:3 plugins[0].git[0].repo: notes does not ask for the repository /srv/r; it asks for ${project}"},
		"a sibling with the same name prefix is not requested": {decide{caps: project("r"), config: conf("git = [{ repo = '/home/me/workshop', access = 'r' }]")}, "", "",
			"error /etc/bulkhead.toml:3 plugins[0].git[0].repo: notes does not ask for the repository /home/me/workshop; it asks for ${project}"},
		"a repository in a requested directory is granted": {decide{caps: project("r"), config: conf("git = [{ repo = '${project}/sub', access = 'r' }]")},
			"r /home/me/work/sub", "", ""},
		"a request for any allows any": {decide{caps: "[capabilities]\ngit = [{ repo = '*', access = 'rw' }]",
			config: conf("fs = []\ngit = [{ repo = '/srv/r', access = 'rw' }]")}, "rw /srv/r", "", ""},
		"a repository for a plugin that requests none is refused": {decide{config: conf("git = [{ repo = '/srv/r', access = 'r' }]")}, "", "",
			"error /etc/bulkhead.toml:3 plugins[0].git: notes asks for no repository"},
		"the home directory as a repository is a warning": {decide{caps: "[capabilities]\ngit = [{ repo = '*', access = 'r' }]", config: conf("git = [{ repo = '${home}', access = 'r' }]")},
			"r /home/me", "", "warning /etc/bulkhead.toml:3 plugins[0].git[0].repo: grants every repository in /home/me"},
		"without a project a config's repository there leaves the plugin out": {decide{caps: project("r"), places: &noProject,
			config: conf("git = [{ repo = '${project}', access = 'r' }]")}, "", "its config grants the repository ${project}: pass --project", ""},
		"duplicate grants of a repository have the higher access": {decide{caps: project("rw"),
			config: conf("git = [{ repo = '${project}', access = 'r' }, { repo = '/home/me/work', access = 'rw' }]")}, "rw /home/me/work", "", ""},
		"duplicate requests are one grant": {decide{caps: "[capabilities]\ngit = [{ repo = '${project}', access = 'r' }, { repo = '/home/me/work', access = 'r' }]"},
			"r /home/me/work", "", ""},
		"without a config a repository outside the project is dropped": {decide{caps: "[capabilities]\ngit = [{ repo = '/srv/r', access = 'r' }]"}, "", "",
			"warning /p/plugin.toml:10 capabilities.git[0].repo: asks for the repository /srv/r, which only a config file can grant"},
		"with a config it is granted":   {decide{caps: "[capabilities]\ngit = [{ repo = '/srv/r', access = 'r' }]", config: conf("")}, "r /srv/r", "", ""},
		"a request for any grants none": {decide{caps: "[capabilities]\ngit = [{ repo = '*', access = 'r' }]", config: conf("")}, "", "", "warning /p/plugin.toml:10 capabilities.git[0].repo: asks for any repository, but is granted only those that a config file names"},
		"a repository outside the config's directories is dropped": {decide{caps: "[capabilities]\ngit = [{ repo = '${project}', access = 'r' }]\n" + fs("${project} r"),
			config: conf("fs = []")}, "", "",
			"warning /p/plugin.toml:10 capabilities.git[0].repo: asks for the repository ${project}, which lies in none of the granted directories"},
		"a repository beside the config's directories is dropped": {decide{caps: "[capabilities]\ngit = [{ repo = '${project}', access = 'r' }]\n" + fs("${project} r"),
			config: conf("fs = [{ path = '/home/me/other', access = 'r' }]")}, "", "",
			"warning /p/plugin.toml:10 capabilities.git[0].repo: asks for the repository ${project}, which lies in none of the granted directories"},
		"a repository inside the config's directories is granted": {decide{caps: "[capabilities]\ngit = [{ repo = '${project}', access = 'r' }]\n" + fs("${project} r"),
			config: conf("fs = [{ path = '/home/me/work', access = 'r' }]")}, "r /home/me/work", "", ""},
		"without a project a plugin that needs its repository is left out": {decide{caps: "[capabilities]\ngit = [{ repo = '${project}', access = 'r' }]",
			places: &noProject}, "", "it needs the repository ${project}: pass --project", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			var repos []string
			for _, r := range g.Git {
				repos = append(repos, string(r.Access)+" "+r.Repo)
			}
			check(t, "repositories", c.repos, strings.Join(repos, ","))
			check(t, "left out", c.leftOut, g.LeftOut)
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestDecideEnv(t *testing.T) {
	type env = map[string]string
	for name, c := range map[string]struct {
		decide
		want     env
		problems string
	}{
		"a variable without a value is not granted": {decide{caps: "[capabilities]\nenv = ['USER']"}, env{}, ""},
		"a requested variable is granted":           {decide{caps: "[capabilities]\nenv = ['USER']", config: conf("env = { USER = 'me' }")}, env{"USER": "me"}, ""},
		"the command line wins":                     {decide{caps: "[capabilities]\nenv = ['USER']", config: conf("env = { USER = 'me' }"), flags: config.Flags{Env: env{"USER": "you"}}}, env{"USER": "you"}, ""},
		"a request for any variable allows any":     {decide{caps: "[capabilities]\nenv = ['*']", config: conf("env = { X = '1' }"), flags: config.Flags{Env: env{"Y": "2"}}}, env{"X": "1", "Y": "2"}, ""},
		"an unrequested variable of the config is refused without its value": {decide{caps: "[capabilities]\nenv = ['USER']", config: conf("env = { TOKEN = 'hush' }")}, env{},
			"error /etc/bulkhead.toml:3 plugins[0].env.TOKEN: notes does not ask for this variable; it asks for USER"},
		"an unrequested variable of the command line is ignored": {decide{flags: config.Flags{Env: env{"TOKEN": "hush"}}}, env{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			check(t, "env", c.want, g.Env)
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestDecideAsk(t *testing.T) {
	const all = "[capabilities]\nask = ['elicitation', 'sampling', 'roots']"
	for name, c := range map[string]struct {
		decide
		want     string
		problems string
	}{
		"nothing is requested":                      {decide{config: conf("")}, "", ""},
		"what the manifest requests is granted":     {decide{caps: all, config: conf("")}, "elicitation, sampling, roots", ""},
		"the config narrows it":                     {decide{caps: all, config: conf("ask = ['roots']")}, "roots", ""},
		"an empty list grants nothing":              {decide{caps: all, config: conf("ask = []")}, "", ""},
		"only what the manifest requests":           {decide{caps: "[capabilities]\nask = ['elicitation']", config: conf("ask = ['elicitation', 'sampling']")}, "elicitation", "error /etc/bulkhead.toml:3 plugins[0].ask[1]: notes does not ask clients for sampling"},
		"nothing is granted without a config file":  {decide{caps: all}, "", "warning /p/plugin.toml:10 capabilities.ask: asks clients for elicitation, sampling, roots, which only a config file can grant"},
		"a ceiling narrows it":                      {decide{caps: all, config: conf(""), ceiling: "[ceiling]\nask = ['elicitation', 'roots']"}, "elicitation, roots", "warning /etc/bulkhead.toml:1 plugins[0].ask: asking clients for sampling is not granted: it is not in ceiling.ask (/etc/bulkhead/bulkhead.toml:2)"},
		"an empty ceiling removes what was granted": {decide{caps: all, config: conf("ask = ['roots']"), ceiling: "[ceiling]\nask = []"}, "", "warning /etc/bulkhead.toml:3 plugins[0].ask: asking clients for roots is not granted: it is not in ceiling.ask (/etc/bulkhead/bulkhead.toml:2)"},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			check(t, "ask", c.want, interaction.Names(g.Ask))
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestDecideLimits(t *testing.T) {
	defaults := manifest.Limits{Memory: 64 << 20, Time: 30 * time.Second, Input: 16 << 20, Output: 8 << 20, Operations: 10000, Log: 1 << 20,
		Files: 256, Concurrency: 8, Queue: time.Minute, Ask: 10 * time.Minute, Task: 10 * time.Minute, HTTPRequest: 8 << 20, HTTPResponse: 8 << 20, HTTPConcurrency: 4}
	with := func(change func(*manifest.Limits)) manifest.Limits {
		l := defaults
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		decide
		want     manifest.Limits
		problems string
	}{
		"unset limits have defaults": {decide{}, defaults, ""},
		"the manifest's limits apply": {decide{caps: "[limits]\nmemory='128MiB'\ntime='1s'\noutput='1MiB'\nconcurrency=2\nfuel=7"},
			with(func(l *manifest.Limits) {
				l.Memory, l.Time, l.Output, l.Concurrency, l.Fuel = 128<<20, time.Second, 1<<20, 2, 7
			}), ""},
		"so do the other limits": {decide{caps: "[limits]\ninput='1MiB'\noperations=1\nlog='2KiB'\nfiles=3\nqueue='4s'\nask='5s'\nhttp_request='5KiB'\nhttp_response='6KiB'\nhttp_concurrency=7"},
			with(func(l *manifest.Limits) {
				l.Input, l.Operations, l.Log, l.Files, l.Queue, l.Ask = 1<<20, 1, 2<<10, 3, 4*time.Second, 5*time.Second
				l.HTTPRequest, l.HTTPResponse, l.HTTPConcurrency = 5<<10, 6<<10, 7
			}), ""},
		"and the config bounds them": {decide{caps: "[limits]\noperations=50\nqueue='2m'", config: "[defaults.limits]\nfiles=9\nqueue='3s'\n" +
			conf("limits = { input='1KiB', operations=20, log='1KiB', http_request='1KiB', http_response='1KiB', http_concurrency=1 }")},
			with(func(l *manifest.Limits) {
				l.Input, l.Operations, l.Log, l.Files, l.Queue = 1<<10, 20, 1<<10, 9, 3*time.Second
				l.HTTPRequest, l.HTTPResponse, l.HTTPConcurrency = 1<<10, 1<<10, 1
			}), ""},
		"fuel is the smaller of two bounds": {decide{caps: "[limits]\nfuel=70", config: conf("limits = { fuel = 50 }")},
			with(func(l *manifest.Limits) { l.Fuel = 50 }), ""},
		"the plugin's table bounds it": {decide{caps: "[limits]\nmemory='128MiB'", config: conf("limits = { memory = '32MiB' }")},
			with(func(l *manifest.Limits) { l.Memory = 32 << 20 }), ""},
		"a higher bound has no effect": {decide{caps: "[limits]\nmemory='128MiB'", config: conf("limits = { memory = '1GiB' }")},
			with(func(l *manifest.Limits) { l.Memory = 128 << 20 }), ""},
		"the defaults apply where the table is unset": {decide{caps: "[limits]\ntime='20s'", config: "[defaults.limits]\ntime='5s'\n" + conf("")},
			with(func(l *manifest.Limits) { l.Time = 5 * time.Second }), ""},
		"the table overrides the defaults": {decide{caps: "[limits]\ntime='20s'", config: "[defaults.limits]\ntime='5s'\n" + conf("limits = { time = '10s' }")},
			with(func(l *manifest.Limits) { l.Time = 10 * time.Second }), ""},
		"the config applies where the manifest is unset": {decide{config: conf("limits = { time = '2m', fuel = 9 }")},
			with(func(l *manifest.Limits) { l.Time, l.Fuel = 2*time.Minute, 9 }), ""},
		"a limit above the ceiling is capped with a warning": {decide{caps: "[limits]\nmemory='1GiB'"},
			with(func(l *manifest.Limits) { l.Memory = 256 << 20 }),
			"warning /p/plugin.toml:0 limits.memory: asks for 1GiB and gets 256MiB, the maximum without a config setting"},
		"the config can exceed the ceiling": {decide{caps: "[limits]\nmemory='1GiB'", config: conf("limits = { memory = '2GiB' }")},
			with(func(l *manifest.Limits) { l.Memory = 1 << 30 }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			check(t, "limits", c.want, g.Limits)
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestDecideChecksPin(t *testing.T) {
	m := &manifest.Manifest{Name: "notes", File: "/p/plugin.toml", Digest: strings.Repeat("a", 64)}
	for name, c := range map[string]struct {
		pin string
		ok  bool
	}{
		"no pin accepts any manifest":         {"", true},
		"the pin of this manifest accepts it": {m.Digest, true},
		"the pin of another manifest refuses": {strings.Repeat("b", 64), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := config.Decide(m, config.Plugin{SHA256: c.pin, Line: 1}, config.Defaults{}, places, config.Flags{})
			if (ps.Err() == nil) != c.ok {
				t.Errorf("got %v", ps)
			}
		})
	}
}

func TestDecideReportsInvalidGlob(t *testing.T) {
	m := &manifest.Manifest{Name: "notes", Tools: []manifest.Tool{{Name: "a"}}}
	_, ps := config.Decide(m, config.Plugin{DenyTools: []string{"[a"}}, config.Defaults{}, places, config.Flags{})
	if ps.Err() == nil {
		t.Error("an invalid deny glob was accepted")
	}
}
