package config_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// all returns a ceiling whose [ceiling] table has the given keys. The keys begin in line 2.
func all(keys string) string { return "[ceiling]\n" + keys }

func TestNarrowDirectories(t *testing.T) {
	const state = "rw! /home/me/.state/notes"
	wide := fs("${project} rw", "${home}/ref rw", "/srv/x rw")
	own := conf("fs = [\n{ path = '${project}', access = 'rw' },\n{ path = '${home}/ref', access = 'rw' },\n{ path = '/srv/x', access = 'r' }]")
	broken := places
	broken.Home = hostPath("/tmp") // as if the user had set HOME=/tmp, which turns the home directory into a possible project
	broken.Project = hostPath("/home/me")
	noProject := places
	noProject.Project = ""
	for name, c := range map[string]struct {
		decide
		mounts   string
		problems string
	}{
		"no bound":                       {decide{caps: wide, config: own, ceiling: all("read_only = false")}, "rw /home/me/work,rw /home/me/ref,r /srv/x," + state, ""},
		"the project only":               {decide{caps: wide, config: own, ceiling: all("fs = [{ path = '${project}', access = 'rw' }]")}, "rw /home/me/work(/home/me/work)," + state, "warning /etc/bulkhead.toml:5 plugins[0].fs: /home/me/ref is not granted: it is in none of the directories of ceiling.fs (/etc/bulkhead/bulkhead.toml:2)|warning /etc/bulkhead.toml:6 plugins[0].fs: /srv/x is not granted: it is in none of the directories of ceiling.fs (/etc/bulkhead/bulkhead.toml:2)"},
		"none":                           {decide{caps: fs("${project} rw"), config: conf(""), ceiling: all("fs = []")}, state, "warning /etc/bulkhead.toml:1 plugins[0].fs: /home/me/work is not granted: it is in none of"},
		"none, without config":           {decide{caps: fs("${project} rw"), ceiling: all("fs = []")}, state, "warning /p/plugin.toml:0 fs: /home/me/work is not granted: it is in none of"},
		"reading only":                   {decide{caps: fs("${project} rw"), ceiling: all("fs = [{ path = '/home', access = 'r' }]")}, "r /home/me/work(/home)," + state, "warning /p/plugin.toml:0 fs: /home/me/work is granted read-only: ceiling.fs (/etc/bulkhead/bulkhead.toml:2) allows no more"},
		"read_only of what is read-only": {decide{caps: fs("${project} r"), ceiling: all("read_only = true")}, "r /home/me/work," + state, ""},
		"read_only and reading only": {decide{caps: fs("${project} rw"), ceiling: all("read_only = true\nfs = [{ path = '/home', access = 'rw' }]")}, "r /home/me/work(/home)," + state,
			"warning /p/plugin.toml:0 fs: /home/me/work is granted read-only: ceiling.read_only"},
		"an unset variable": {decide{caps: fs("${project} rw"), places: &noProject, config: conf("fs = [{ path = '/srv/x', access = 'r' }]"), ceiling: all("fs = [{ path = '${project}', access = 'rw' }]")}, state,
			"warning /etc/bulkhead.toml:3 plugins[0].fs: /srv/x is not granted"},
		"two bounds that contain each other": {decide{caps: fs("${project} rw"), ceiling: all("fs = [{ path = '/home', access = 'rw' }, { path = '/home/me', access = 'rw' }]") +
			"\n[[plugins]]\nname = 'notes'\nfs = [{ path = '/', access = 'rw' }, { path = '/home/me/work', access = 'rw' }]"}, "rw /home/me/work(/home /home/me/work /home/me)," + state, ""},
		"read_only":            {decide{caps: fs("${project} rw"), ceiling: all("read_only = true")}, "r /home/me/work," + state, "warning /p/plugin.toml:0 fs: /home/me/work is granted read-only: ceiling.read_only"},
		"the higher access":    {decide{caps: fs("${project} rw"), ceiling: all("fs = [{ path = '/', access = 'r' }, { path = '${project}', access = 'rw' }]")}, "rw /home/me/work(/home/me/work)," + state, ""},
		"a prefix of the name": {decide{caps: fs("${project} rw"), ceiling: all("fs = [{ path = '/home/me/wo', access = 'rw' }]")}, state, "warning /p/plugin.toml:0 fs: /home/me/work is not granted"},
		"a directory in it":    {decide{caps: fs("${project} rw"), ceiling: all("fs = [{ path = '/home/me/work/sub', access = 'rw' }]")}, state, "warning /p/plugin.toml:0 fs: /home/me/work is not granted"},
		"a plugin's own bound": {decide{caps: fs("${project} rw"), ceiling: all("fs = [{ path = '/home', access = 'rw' }]") + "\n[[plugins]]\nname = 'notes'\nfs = [{ path = '/home/me', access = 'r' }]"}, "r /home/me/work(/home/me)," + state, "warning /p/plugin.toml:0 fs: /home/me/work is granted read-only: plugins[notes].fs (/etc/bulkhead/bulkhead.toml:5) allows no more"},
		"a wider bound":        {decide{caps: fs("${project} rw"), ceiling: all("fs = [{ path = '${home}/work', access = 'r' }]") + "\n[[plugins]]\nname = 'notes'\nfs = [{ path = '/', access = 'rw' }]"}, "r /home/me/work(/home/me/work)," + state, "warning /p/plugin.toml:0 fs: /home/me/work is granted read-only: ceiling.fs"},
		"another plugin's":     {decide{caps: fs("${project} rw"), ceiling: "[[plugins]]\nname = 'other'\nfs = []\n[[plugins]]\nname = 'notes'"}, "rw /home/me/work," + state, ""},
		"a project that is the real home": {decide{caps: fs("${project} rw"), places: &broken, ceiling: all("fs = [{ path = '${project}', access = 'rw' }]")}, "rw! /home/me/.state/notes",
			"warning /p/plugin.toml:0 fs: /home/me is not granted"},
		"a home of the environment": {decide{caps: fs("${home}/ref rw"), config: conf("fs = [{ path = '/tmp/ref', access = 'rw' }]"), places: &broken, ceiling: all("fs = [{ path = '${home}', access = 'rw' }]")}, "rw! /home/me/.state/notes",
			"warning /etc/bulkhead.toml:3 plugins[0].fs: /tmp/ref is not granted"},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			var mounts []string
			for _, m := range g.FS {
				state, within := "", ""
				if m.State {
					state = "!"
				}
				if m.Within != nil {
					within = "(" + strings.Join(m.Within, " ") + ")"
				}
				mounts = append(mounts, fmt.Sprintf("%s%s %s%s", m.Access, state, m.Path, within))
			}
			check(t, "mounts", c.mounts, strings.Join(mounts, ","))
			checkPrefixes(t, c.problems, problems)
		})
	}
}

// checkPrefixes checks that each problem begins with the corresponding part of want. The parts are separated by "|".
func checkPrefixes(t *testing.T, want string, problems []string) {
	t.Helper()
	wants := strings.Split(want, "|")
	if want == "" {
		wants = nil
	}
	if len(wants) != len(problems) {
		t.Fatalf("got %q, want %q", problems, wants)
	}
	for i, p := range problems {
		if !strings.HasPrefix(p, wants[i]) {
			t.Errorf("got %q, want %q", p, wants[i])
		}
	}
}

func TestNarrowEverythingElse(t *testing.T) {
	network := "http = ['https://a', 'https://b', 'http://127.0.0.1']\nenv = ['A', 'B', 'GIT_X']\n"
	http := conf("http = ['https://a',\n'https://b',\n{ origin = 'http://127.0.0.1', private = true }]\nenv = { A = '1', B = '2' }")
	publicWeb := "[capabilities]\nhttp = ['public-web']\n"
	git := "[[capabilities.git]]\nrepo = '${project}'\naccess = 'rw'\nremotes = ['https://a/r', 'https://b/r', '*']\n"
	gitConfig := conf("git = [{ repo = '${project}', access = 'rw', remotes = ['https://a/r', 'https://b/r'] }]")
	commits := "[[capabilities.git]]\nrepo = '${project}'\naccess = 'commit'\n"
	commitConfig := conf("git = [{ repo = '${project}', access = 'commit' }]")
	anyRemote := conf("git = [{ repo = '${project}', access = 'rw', remotes = ['*'] }]")
	noProject := places
	noProject.Project = ""
	const digest = "sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'"
	for name, c := range map[string]struct {
		decide
		got      func(g config.Grant) any
		want     any
		problems string
	}{
		"origins":        {decide{caps: "[capabilities]\n" + network, config: http, ceiling: all("http = ['https://b']")}, origins, "https://b", "warning /etc/bulkhead.toml:3 plugins[0].http: https://a is not granted: it is not in ceiling.http (/etc/bulkhead/bulkhead.toml:2)|warning /etc/bulkhead.toml:5 plugins[0].http: http://127.0.0.1 is not granted"},
		"no origin":      {decide{caps: "[capabilities]\nhttp = ['https://a']", config: conf(""), ceiling: all("http = []")}, origins, "", "warning /etc/bulkhead.toml:1 plugins[0].http: https://a is not granted"},
		"another port":   {decide{caps: "[capabilities]\nhttp = ['https://a']", config: conf(""), ceiling: all("http = ['https://a:444']")}, origins, "", "warning /etc/bulkhead.toml:1 plugins[0].http: https://a is not granted"},
		"the public web": {decide{caps: publicWeb, config: conf("http = ['public-web', 'https://a']"), ceiling: all("http = ['public-web']")}, origins, "public-web https://a", ""},
		"the public web, denied": {decide{caps: publicWeb, config: conf("http = [\n'public-web', 'https://a']"), ceiling: all("http = []")}, origins, "",
			"warning /etc/bulkhead.toml:4 plugins[0].http: public-web is not granted: only origins that are in ceiling.http (/etc/bulkhead/bulkhead.toml:2) are|warning /etc/bulkhead.toml:4 plugins[0].http: https://a is not granted"},
		"the public web, narrowed to its origins": {decide{caps: publicWeb, config: conf("http = ['public-web', 'https://a']"),
			ceiling: all("http = ['https://a', 'https://b', 'https://c:8443', { origin = 'http://d', private = true }]")}, origins, "https://b http://d https://a",
			"warning /etc/bulkhead.toml:3 plugins[0].http: public-web is not granted: only origins that are in ceiling.http"},
		"the public web, denied to one plugin": {decide{caps: publicWeb, config: conf("http = ['public-web']"), ceiling: "[[plugins]]\nname = 'notes'\nhttp = ['https://b']"}, origins, "https://b",
			"warning /etc/bulkhead.toml:3 plugins[0].http: public-web is not granted: only origins that are in plugins[notes].http"},
		"origins in the public web": {decide{caps: "[capabilities]\nhttp = ['*']\n", config: conf("http = ['https://a', 'https://a:444', { origin = 'https://b', private = true }]"), ceiling: all("http = ['public-web']")}, origins, "https://a https://b",
			"warning /etc/bulkhead.toml:3 plugins[0].http: https://a:444 is not granted|warning /etc/bulkhead.toml:3 plugins[0].http: https://b is granted without private = true"},
		"remotes in the public web": {decide{caps: git, config: gitConfig, ceiling: all("http = ['public-web']")}, repositories, "rw /home/me/work https://a/r https://b/r", ""},
		"private addresses":         {decide{caps: "[capabilities]\n" + network, config: http, ceiling: all("http = ['https://a', 'https://b', 'http://127.0.0.1']")}, origins, "https://a https://b http://127.0.0.1", "warning /etc/bulkhead.toml:5 plugins[0].http: http://127.0.0.1 is granted without private = true: ceiling.http"},
		"private, allowed":          {decide{caps: "[capabilities]\n" + network, config: http, ceiling: all("http = ['https://a', 'https://b', { origin = 'http://127.0.0.1', private = true }]")}, origins, "https://a https://b http://127.0.0.1!", ""},
		"variables": {decide{caps: "[capabilities]\nenv = ['A', 'B', 'GIT_X']", config: conf("env = { A = '1', GIT_X = '3' }"), flags: config.Flags{Env: map[string]string{"B": "flag"}}, ceiling: all("env = ['A', 'GIT_*']")},
			func(g config.Grant) any { return fmt.Sprint(g.Env) }, "map[A:1 GIT_X:3]", "warning /etc/bulkhead.toml:3 plugins[0].env: the variable B is not granted: it is not in ceiling.env (/etc/bulkhead/bulkhead.toml:2)"},
		"a variable of --env": {decide{caps: "[capabilities]\nenv = ['B']", flags: config.Flags{Env: map[string]string{"B": "flag"}}, ceiling: all("env = []")},
			func(g config.Grant) any { return fmt.Sprint(g.Env) }, "map[]", "warning /p/plugin.toml:0 env: the variable B is not granted"},
		"repositories":         {decide{caps: git, config: gitConfig, ceiling: all("git = []")}, repositories, "", "warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is not granted: it is in none of the directories of ceiling.git (/etc/bulkhead/bulkhead.toml:2)"},
		"repositories by fs":   {decide{caps: git, config: gitConfig, ceiling: all("fs = [{ path = '/srv', access = 'rw' }]")}, repositories, "", "warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is not granted: it is in none of the directories of ceiling.fs"},
		"reading repositories": {decide{caps: git, config: gitConfig, ceiling: all("git = [{ repo = '/home', access = 'r', remotes = ['https://a/r', 'https://b/r'] }]")}, repositories, "r /home/me/work(/home) https://a/r https://b/r", "warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is granted read-only: ceiling.git"},
		"read_only":            {decide{caps: git, config: gitConfig, ceiling: all("read_only = true")}, repositories, "r /home/me/work https://a/r https://b/r", "warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is granted read-only: ceiling.read_only"},
		"commits, allowed":     {decide{caps: commits, config: commitConfig, ceiling: all("git = [{ repo = '/home', access = 'rw' }, { repo = '/home/me', access = 'commit' }]")}, repositories, "commit /home/me/work(/home/me)", ""},
		"commits, where branches are allowed": {decide{caps: commits, config: commitConfig, ceiling: all("git = [{ repo = '/home', access = 'rw' }]")}, repositories, "rw /home/me/work(/home)",
			"warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is granted with access = \"rw\": ceiling.git"},
		"commits, where reading is allowed": {decide{caps: commits, config: commitConfig, ceiling: all("git = [{ repo = '/home', access = 'r' }]")}, repositories, "r /home/me/work(/home)",
			"warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is granted read-only: ceiling.git"},
		"commits, where only files may be written": {decide{caps: commits, config: commitConfig, ceiling: all("fs = [{ path = '/home', access = 'rw' }]")}, repositories, "rw /home/me/work(/home)",
			"warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is granted with access = \"rw\": ceiling.fs"},
		"commits and read_only": {decide{caps: commits, config: commitConfig, ceiling: all("read_only = true")}, repositories, "r /home/me/work",
			"warning /etc/bulkhead.toml:3 plugins[0].git: the repository /home/me/work is granted read-only: ceiling.read_only"},
		"remotes":                         {decide{caps: git, config: gitConfig, ceiling: all("git = [{ repo = '/home', access = 'rw', remotes = ['https://b/r'] }]")}, repositories, "rw /home/me/work(/home) https://b/r", "warning /etc/bulkhead.toml:3 plugins[0].git: the remote https://a/r of /home/me/work is not granted: it is not in ceiling.git"},
		"remotes by http":                 {decide{caps: git, config: gitConfig, ceiling: all("http = ['https://b']")}, repositories, "rw /home/me/work https://b/r", "warning /etc/bulkhead.toml:3 plugins[0].git: the remote https://a/r of /home/me/work is not granted: it is not in ceiling.http"},
		"any remote":                      {decide{caps: git, config: anyRemote, ceiling: all("git = [{ repo = '/home', access = 'rw', remotes = ['https://b/r'] }]")}, repositories, "rw /home/me/work(/home) https://b/r", "warning /etc/bulkhead.toml:3 plugins[0].git: the remote * of /home/me/work is not granted"},
		"any remote by http":              {decide{caps: git, config: anyRemote, ceiling: all("http = ['https://b']")}, repositories, "rw /home/me/work", "warning /etc/bulkhead.toml:3 plugins[0].git: the remote * of /home/me/work is not granted: it is not in ceiling.http"},
		"remotes of a directory in it":    {decide{caps: git, config: gitConfig, ceiling: all("git = [{ repo = '/home', access = 'rw' }, { repo = '/home/me', access = 'r', remotes = ['https://a/r'] }, { repo = '/home/me/work', access = 'rw', remotes = ['https://b/r'] }]")}, repositories, "rw /home/me/work(/home/me/work) https://a/r https://b/r", ""},
		"any remote of a directory in it": {decide{caps: git, config: anyRemote, ceiling: all("git = [{ repo = '/home', access = 'rw' }, { repo = '/home/me', access = 'r', remotes = ['*'] }]")}, repositories, "rw /home/me/work(/home/me) *", ""},
		"remotes of a plugin's own bound": {decide{caps: git, config: gitConfig, ceiling: all("git = [{ repo = '/home', access = 'rw', remotes = ['*'] }, { repo = '/', access = 'rw', remotes = ['*'] }]") + "\n[[plugins]]\nname = 'notes'\ngit = [{ repo = '/home/me/work', access = 'rw', remotes = ['*'] }, { repo = '/home/me', access = 'rw', remotes = ['*'] }]"}, repositories, "rw /home/me/work(/home/me/work /home/me) https://a/r https://b/r", ""},
		"any remote, allowed":             {decide{caps: git, config: anyRemote, ceiling: all("git = [{ repo = '/home', access = 'rw', remotes = ['*'] }]")}, repositories, "rw /home/me/work(/home) *", ""},
		"remotes of a directory elsewhere": {decide{caps: git, config: gitConfig, ceiling: all("git = [{ repo = '/home', access = 'rw' }, { repo = '/srv', access = 'rw', remotes = ['https://a/r', '*'] }]")},
			repositories, "rw /home/me/work(/home)", "warning /etc/bulkhead.toml:3 plugins[0].git: the remote https://a/r of|warning /etc/bulkhead.toml:3 plugins[0].git: the remote https://b/r of"},
		"remotes of an unset variable": {decide{caps: "[[capabilities.git]]\nrepo = '/'\naccess = 'r'\nremotes = ['https://a/r']\n", places: &noProject, config: conf("git = [{ repo = '/srv', access = 'r', remotes = ['https://a/r'] }]"),
			ceiling: all("git = [{ repo = '/srv', access = 'rw' }, { repo = '${project}', access = 'rw', remotes = ['https://a/r', '*'] }]")},
			repositories, "r /srv(/srv)", "warning /etc/bulkhead.toml:3 plugins[0].git: the remote https://a/r of"},
		"read_only of a repository that is read-only": {decide{caps: git, config: conf("git = [{ repo = '${project}', access = 'r' }]"), ceiling: all("read_only = true")}, repositories, "r /home/me/work", ""},
		"a credential over plain http loses its origin": {decide{caps: "[capabilities]\n" + network, config: conf("http = [{ origin = 'http://127.0.0.1', private = true, credential = 'k' }]\n[credentials.k]\nenv = 'K'"),
			ceiling: all("http = ['http://127.0.0.1']")}, origins, "", "warning /etc/bulkhead.toml:3 plugins[0].http: http://127.0.0.1 is granted without private"},
		"a credential over https keeps its origin": {decide{caps: "[capabilities]\nhttp = ['https://a']", config: conf("http = [{ origin = 'https://a', private = true, credential = 'k' }]\n[credentials.k]\nenv = 'K'"),
			ceiling: all("http = ['https://a']")}, origins, "https://a", "warning /etc/bulkhead.toml:3 plugins[0].http: https://a is granted without private"},
		"tools": {decide{tools: "a b W", ceiling: all("deny_tools = ['b']\nread_only = true")},
			withheld, "b: denied by \"b\" in ceiling.deny_tools (/etc/bulkhead/bulkhead.toml:2)|W: writes, and ceiling.read_only (/etc/bulkhead/bulkhead.toml:3) does not allow that", ""},
		"allowed tools":                 {decide{tools: "a b W", config: conf("allow_tools = ['*']"), ceiling: all("allow_tools = ['[ab]']")}, withheld, "W: not in ceiling.allow_tools (/etc/bulkhead/bulkhead.toml:2)", ""},
		"opt-in to write":               {decide{plugin: "write = 'opt-in'", tools: "a W", config: conf("allow_write = true"), flags: config.Flags{AllowWrite: true}, ceiling: all("read_only = true")}, withheld, "W: writes, and ceiling.read_only (/etc/bulkhead/bulkhead.toml:2) does not allow that", ""},
		"a prefix does not hide a tool": {decide{tools: "a", config: conf("prefix = 'x_'"), ceiling: all("deny_tools = ['a']")}, withheld, "a: denied by \"a\" in ceiling.deny_tools (/etc/bulkhead/bulkhead.toml:2)", ""},
		"limits": {decide{config: conf("limits = { time = '10m', memory = '1MiB', fuel = 5 }"), ceiling: all("limits = { time = '5s', memory = '2MiB', queue = '1s' }")},
			func(g config.Grant) any { return []any{g.Limits.Time, g.Limits.Memory, g.Limits.Queue, g.Limits.Fuel} }, []any{5 * time.Second, int64(1 << 20), time.Second, int64(5)},
			"warning /etc/bulkhead.toml:3 plugins[0].limits.time: 10m0s is reduced to 5s: ceiling.limits (/etc/bulkhead/bulkhead.toml:2) allows no more"},
		"fuel":         {decide{ceiling: all("limits = { fuel = 7 }")}, func(g config.Grant) any { return g.Limits.Fuel }, int64(7), ""},
		"a fuel above": {decide{config: conf("limits = { fuel = 9 }"), ceiling: all("limits = { fuel = 7 }")}, func(g config.Grant) any { return g.Limits.Fuel }, int64(7), "warning /etc/bulkhead.toml:3 plugins[0].limits.fuel: 9 is reduced to 7"},
		"isolation":    {decide{config: conf("isolation = 'reused'"), ceiling: all("isolation = 'pristine'")}, func(g config.Grant) any { return g.Reused }, false, "warning /etc/bulkhead.toml:3 plugins[0].isolation: isolation = \"reused\" is not granted: ceiling.isolation"},
		"a limit that the manifest had lowered": {decide{caps: "[limits]\ntime = '8s'", config: conf("limits = { time = '10m' }"), ceiling: all("limits = { time = '5s' }")},
			func(g config.Grant) any { return fmt.Sprint(g.Limits.Time, " ", len(g.Cuts)) }, "5s 1", ""},
		"a limit that is lower already": {decide{config: conf("limits = { time = '4s' }"), ceiling: all("limits = { time = '5s' }")},
			func(g config.Grant) any { return fmt.Sprint(g.Limits.Time, " ", len(g.Cuts)) }, "4s 0", ""},
		"isolation that is pristine":    {decide{ceiling: all("isolation = 'pristine'")}, func(g config.Grant) any { return fmt.Sprint(g.Reused, " ", len(g.Cuts)) }, "false 0", ""},
		"files that are hidden already": {decide{config: conf("deny = ['a']"), ceiling: all("deny = ['a']")}, func(g config.Grant) any { return fmt.Sprint(g.Deny, " ", len(g.Cuts)) }, "[a] 0", ""},
		"hidden files":                  {decide{config: conf("deny = ['a']"), ceiling: all("deny = ['**/.env']")}, func(g config.Grant) any { return strings.Join(g.Deny, " ") }, "a **/.env", ""},

		"a plugin that is not allowed":  {decide{tools: "a", config: conf(""), ceiling: "[[plugins]]\nname = 'other'"}, tools, "", "error /etc/bulkhead.toml:1 plugins[0]: notes is not allowed: /etc/bulkhead/bulkhead.toml:1 allows only these plugins: other"},
		"no plugin is allowed":          {decide{tools: "a", ceiling: "plugins = []"}, tools, "", "error /p/plugin.toml:0 : notes is not allowed: /etc/bulkhead/bulkhead.toml allows no plugin"},
		"a plugin with another digest":  {decide{tools: "a", ceiling: "[[plugins]]\nname = 'notes'\n" + digest}, tools, "", "error /p/plugin.toml:0 : notes is not allowed: its SHA-256 is "},
		"a plugin by its name":          {decide{tools: "a", ceiling: "[[plugins]]\nname = 'notes'"}, tools, "a", ""},
		"a plugin by its second digest": {decide{tools: "a", ceiling: "[[plugins]]\nname = 'notes'\n" + digest + "\n[[plugins]]\nname = 'notes'\ndeny_tools = ['a']"}, tools, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			check(t, "got", c.want, c.got(g))
			checkPrefixes(t, c.problems, problems)
		})
	}
}

func origins(g config.Grant) any {
	var out []string
	for _, h := range g.HTTP {
		text := h.String()
		if h.Private {
			text += "!"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func repositories(g config.Grant) any {
	var out []string
	for _, r := range g.Git {
		text := string(r.Access) + " " + r.Repo
		if r.Within != nil {
			text += "(" + strings.Join(r.Within, " ") + ")"
		}
		out = append(out, strings.Join(append([]string{text}, r.Remotes...), " "))
	}
	return strings.Join(out, "|")
}

func withheld(g config.Grant) any {
	var out []string
	for _, w := range g.Withheld {
		out = append(out, w.Tool.Name+": "+w.Why)
	}
	return strings.Join(out, "|")
}

func tools(g config.Grant) any {
	var out []string
	for _, t := range g.Tools {
		out = append(out, t.Name)
	}
	return strings.Join(out, " ")
}

// TestNarrowPinsModuleToo checks that a ceiling refuses a manifest by its digest alone: the manifest must contain the digest
// of its module too.
func TestNarrowPinsModuleToo(t *testing.T) {
	m := &manifest.Manifest{Name: "notes", Digest: strings.Repeat("a", 64)}
	c := &config.Ceiling{File: "/c", Plugins: []config.Allowed{{Name: "notes", SHA256: m.Digest}}}
	if _, ps := c.Narrow(m, config.Plugin{}, places, config.Grant{}); ps.Err() == nil || !strings.Contains(ps[0].What, "no digest of the module") {
		t.Errorf("got %v", ps)
	}
	m.Module.SHA256 = m.Digest
	if _, ps := c.Narrow(m, config.Plugin{}, places, config.Grant{}); ps.Err() != nil {
		t.Errorf("got %v", ps)
	}
}

// TestNarrowPrefersTableWithDigest parses a ceiling with two tables for a plugin, the first without a digest, the second with
// one. The bounds of the second table must apply.
func TestNarrowPrefersTableWithDigest(t *testing.T) {
	m := &manifest.Manifest{Name: "notes", Digest: strings.Repeat("a", 64)}
	m.Module.SHA256 = m.Digest
	c := &config.Ceiling{File: "/c", Plugins: []config.Allowed{{Name: "notes"}, {Name: "notes", SHA256: m.Digest, Bounds: config.Bounds{Env: []string{}}}}}
	g, ps := c.Narrow(m, config.Plugin{}, places, config.Grant{Env: map[string]string{"A": ""}})
	if ps.Err() != nil || len(g.Env) > 0 {
		t.Errorf("got %+v, %v", g, ps)
	}
}

// Public keys of minisign.
const (
	keyA = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
	keyB = "RWSm9yaXgAyRFEfW7mK3yUMg3TiXWpDJEPdbi8E8AgJbzGN1W6yHzVGk"
)

func TestRequiredSigners(t *testing.T) {
	m := &manifest.Manifest{Name: "notes", Digest: strings.Repeat("a", 64)}
	m.Module.SHA256 = m.Digest
	for name, c := range map[string]struct {
		ceiling string
		want    string // the keys, and where they are required
	}{
		"nothing":                           {"[ceiling]\nread_only = true\n[[plugins]]\nname = 'notes'\n", ""},
		"every plugin":                      {all("require_signature = ['" + keyA + "', '" + keyB + "']"), keyA + " " + keyB + " ceiling.require_signature (/c:2)"},
		"no key":                            {all("require_signature = []"), "ceiling.require_signature (/c:2)"},
		"a table of the plugin":             {all("require_signature = ['"+keyA+"']") + "\n[[plugins]]\nname = 'notes'\nrequire_signature = ['" + keyB + "']\n", keyB + " plugins[0].require_signature (/c:5)"},
		"a table without keys":              {all("require_signature = ['"+keyA+"']") + "\n[[plugins]]\nname = 'notes'\n", keyA + " ceiling.require_signature (/c:2)"},
		"a table of another plugin":         {"[[plugins]]\nname = 'notes'\n[[plugins]]\nname = 'other'\nrequire_signature = ['" + keyB + "']\n", ""},
		"a pinned digest":                   {all("require_signature = ['"+keyA+"']") + "\n[[plugins]]\nname = 'notes'\nsha256 = '" + m.Digest + "'\n", ""},
		"the digest of another":             {all("require_signature = ['"+keyA+"']") + "\n[[plugins]]\nname = 'notes'\n[[plugins]]\nname = 'notes'\nsha256 = '" + strings.Repeat("b", 64) + "'\n", keyA + " ceiling.require_signature (/c:2)"},
		"keys of the name space":            {"[sources.keys]\nnotes = ['" + keyA + "']\n'*' = ['" + keyB + "']\n", keyA + " sources.keys.notes (/c:2)"},
		"keys of another name space":        {"[sources.keys]\n'other-*' = ['" + keyA + "']\n", ""},
		"both":                              {all("require_signature = ['"+keyA+"']") + "\n[sources.keys]\n'*' = ['" + keyB + "']\n", keyB + " sources.keys.\"*\" (/c:4) " + keyA + " ceiling.require_signature (/c:2)"},
		"a pinned digest of the name space": {"[[plugins]]\nname = 'notes'\nsha256 = '" + m.Digest + "'\n[sources.keys]\nnotes = ['" + keyA + "']\n", ""},
		"a pinned digest with its key":      {"[[plugins]]\nname = 'notes'\nsha256 = '" + m.Digest + "'\nrequire_signature = ['" + keyB + "']\n", keyB + " plugins[0].require_signature (/c:4)"},
	} {
		t.Run(name, func(t *testing.T) {
			ceiling, ps := config.ParseCeiling("/c", []byte(c.ceiling))
			if ps.Err() != nil {
				t.Fatal(ps.Err())
			}
			var got []string
			for _, s := range ceiling.RequiredSigners(m) {
				for _, k := range s.Keys {
					got = append(got, k.String())
				}
				got = append(got, s.At)
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if s := (*config.Ceiling)(nil).RequiredSigners(m); len(s) > 0 {
		t.Errorf("without a ceiling: got %+v", s)
	}
}

func TestParseCeilingRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"include = ['a']": "1 include: is not a known key",
		"[defaults]":      "1 defaults: is not a known key",
		all("fs = [{ path = '${cwd}', access = 'r' }]"):                                               `2 ceiling.fs[0].path: "${cwd}" has a variable other than ${project} and ${home}`,
		all("fs = [{ path = '${state}', access = 'r' }]"):                                             `2 ceiling.fs[0].path: "${state}" has a variable other than ${project} and ${home}`,
		all("fs = [{ path = '${env:X}/a', access = 'r' }]"):                                           "2 ceiling.fs[0].path: ",
		all("git = [{ repo = '*', access = 'r' }]"):                                                   "2 ceiling.git[0].repo: ",
		all("http = [{ origin = 'https://a', credential = 'x' }]"):                                    "2 ceiling.http[0].credential: there is no [credentials.x]",
		all("allow_write = true"):                                                                     "2 ceiling.allow_write: is not a known key",
		"[[plugins]]\npath = '/x'":                                                                    "1 plugins[0].name: is missing",
		"[[plugins]]\nname = 'a'\n[[plugins]]\nname = 'b'\n[[plugins]]\nname = 'a'\nread_only = true": "5 plugins[2]: allows the same plugin as line 1",
		all("require_signature = ['RWQ']"):                                                            `2 ceiling.require_signature[0]: "RWQ" is no public key of minisign`,
		all("require_signature = '" + keyA + "'"):                                                     "2 ceiling.require_signature: ",
		all("require_signature = ['" + keyA + "', '" + keyA + "']"):                                   "2 ceiling.require_signature[1]: is a duplicate",
		"[[plugins]]\nname = 'a'\nrequire_signature = [1]":                                            "3 plugins[0].require_signature[0]: ",
		"[audit]\nrequired = 'yes'":                                                                   "2 audit.required: ",
		"=":                                                                                           "1 : is not TOML",
	} {
		_, ps := config.ParseCeiling("/c", []byte(text))
		if ps.Err() == nil || !strings.HasPrefix(fmt.Sprintf("%d %s: %s", ps[0].Line, ps[0].Key, ps[0].What), want) {
			t.Errorf("%q: got %v, want %s", text, ps, want)
		}
	}
}

// FuzzNarrow checks that a narrowed grant exceeds neither the original grant nor the ceiling.
func FuzzNarrow(f *testing.F) {
	f.Add([]byte(all("fs = [{ path = '${project}', access = 'r' }, { path = '/home', access = 'rw' }]\nhttp = ['https://a']\ngit = [{ repo = '/', access = 'r', remotes = ['*'] }]\nenv = ['A*']\nlimits = { time = '1s', fuel = 1 }")),
		[]byte(conf("fs = [{ path = '/home/me', access = 'rw' }]\nhttp = ['https://a', 'https://b']\ngit = [{ repo = '${project}', access = 'rw', remotes = ['https://a/r', '*'] }]\nenv = { A = '', B = '' }\nlimits = { time = '2s' }")))
	f.Add([]byte(all("http = ['https://a', 'https://b:444']")), []byte(conf("http = ['public-web', 'https://c']")))
	f.Add([]byte("[ceiling]\nread_only = true\nallow_tools = ['a*']\n[[plugins]]\nname = 'notes'\ndeny_tools = ['?']\nfs = []\n"), []byte(conf("isolation = 'reused'\nallow_write = true")))
	f.Add([]byte(all("approve_writes = true\napprove_tools = ['b']\nfs = []\nhttp = []\ngit = []\nread_only = true")), []byte("[defaults]\napprove_tools = ['?']\n"+conf("approve_writes = true\napprove_tools = ['a', 'b']")))
	m := &manifest.Manifest{Name: "notes", Capabilities: manifest.Capabilities{Env: []string{"*"}, HTTP: []string{"*", "public-web"},
		Git: []manifest.Git{{Repo: "*", Access: "rw", Remotes: []string{"*"}}}, FS: []manifest.FS{{Path: "${project}", Access: "rw"}}},
		Tools: []manifest.Tool{{Name: "a", Write: true}, {Name: "b"}}}
	f.Fuzz(func(t *testing.T, ceiling, text []byte) {
		c, ps := config.ParseCeiling("/etc/bulkhead/bulkhead.toml", []byte(onHost(string(ceiling))))
		cfg, more := config.ParseWith("/etc/bulkhead.toml", []byte(onHost(string(text))), tree{}.read)
		if ps.Err() != nil || more.Err() != nil || len(cfg.Plugins) == 0 {
			return
		}
		p := cfg.Plugins[0]
		p.SHA256 = ""
		before, problems := config.Decide(m, p, cfg.Defaults, places, config.Flags{Env: map[string]string{"C": ""}})
		if problems.Err() != nil {
			return
		}
		c.Home = hostPath("/home/me")
		after, problems := c.Narrow(m, p, places, before)
		if problems.Err() != nil {
			if len(after.Tools)+len(after.FS)+len(after.Git)+len(after.HTTP)+len(after.Env) > 0 {
				t.Errorf("the ceiling does not allow the plugin, but it is granted %+v", after)
			}
			return
		}
		checkNarrowed(t, c, before, after)
		checkApprovals(t, c.All, before, after)
		again, _ := c.Narrow(m, p, places, after)
		again.Cuts, after.Cuts = nil, nil
		check(t, "narrowed twice", plain(fmt.Sprintf("%+v", after)), fmt.Sprintf("%+v", again))
	})
}

func checkNarrowed(t *testing.T, c *config.Ceiling, before, after config.Grant) {
	within := func(list []manifest.FS, path string, access manifest.Access) bool {
		return slices.ContainsFunc(list, func(f manifest.FS) bool {
			dir, missing := places.Resolve(f.Path, "")
			return missing == "" && contain.Within(dir, path) && (access == manifest.Read || f.Access == manifest.ReadWrite)
		})
	}
	for _, m := range after.FS {
		i := slices.IndexFunc(before.FS, func(had config.Mount) bool { return had.Path == m.Path && had.State == m.State })
		switch {
		case i < 0 || m.Access == manifest.ReadWrite && before.FS[i].Access == manifest.Read:
			t.Errorf("mount %+v was not granted", m)
		case !m.State && c.All.FS != nil && (!within(c.All.FS, m.Path, m.Access) || len(m.Within) == 0):
			t.Errorf("mount %+v exceeds the ceiling", m)
		case !m.State && c.All.ReadOnly && m.Access != manifest.Read:
			t.Errorf("mount %+v is writable", m)
		}
	}
	for _, tool := range after.Tools {
		if !slices.ContainsFunc(before.Tools, func(had manifest.Tool) bool { return had.Name == tool.Name }) || tool.Write && c.All.ReadOnly ||
			!(config.Filter{Allow: c.All.AllowTools, Deny: c.All.DenyTools}).Allowed(tool.Name) {
			t.Errorf("tool %s is offered beyond the grant or the ceiling", tool.Name)
		}
	}
	for _, h := range after.HTTP {
		same := func(have config.HTTP) bool { return have.Allows(h) && (have.Private || !h.Private) }
		if !slices.ContainsFunc(before.HTTP, same) || c.All.HTTP != nil && !slices.ContainsFunc(c.All.HTTP, same) {
			t.Errorf("origin %+v exceeds the grant or the ceiling", h)
		}
	}
	for name := range after.Env {
		if _, had := before.Env[name]; !had || c.All.Env != nil && !(config.Filter{Allow: c.All.Env}).Allowed(name) {
			t.Errorf("variable %s exceeds the grant or the ceiling", name)
		}
	}
	for i, l := range after.Limits.List() {
		had, most := before.Limits.List()[i].Value, c.All.Limits.List()[i].Value
		if had > 0 && (l.Value > had || l.Value == 0) || most > 0 && (l.Value > most || l.Value == 0) {
			t.Errorf("limit %s = %d, granted %d, ceiling %d", l.Key, l.Value, had, most)
		}
	}
	for _, g := range after.Git {
		i := slices.IndexFunc(before.Git, func(had config.Git) bool { return had.Repo == g.Repo })
		if i < 0 || g.Access == manifest.ReadWrite && before.Git[i].Access == manifest.Read {
			t.Errorf("repository %+v was not granted", g)
			continue
		}
		for _, r := range g.Remotes {
			if !slices.Contains(before.Git[i].Remotes, r) && !slices.Contains(before.Git[i].Remotes, manifest.Any) {
				t.Errorf("remote %s of %+v was not granted", r, g)
			}
		}
	}
	if after.Reused && (!before.Reused || c.All.Pristine) {
		t.Error("isolation")
	}
	for _, p := range slices.Concat(before.Deny, c.All.Deny) {
		if !slices.Contains(after.Deny, p) {
			t.Errorf("%s is not hidden", p)
		}
	}
}

// A table without a name is reported once: for the name.
func TestCeilingTablesWithoutNameAreNoDuplicates(t *testing.T) {
	_, ps := config.ParseCeiling("/c", []byte("[[plugins]]\n[[plugins]]\n"))
	if len(ps) != 2 || !strings.Contains(ps[0].What+ps[1].What, "is missing") || strings.Contains(ps.Error(), "same plugin") {
		t.Errorf("got %v", ps)
	}
	if _, ps := config.ParseCeiling("/c", []byte("[[plugins]]\nname = 'a'\n[[plugins]]\nname = 'a'\nsha256 = '"+strings.Repeat("0", 64)+"'\n")); ps.Err() != nil {
		t.Errorf("two digests of a plugin: %v", ps)
	}
}

func TestUnresolvedPathsOfCeiling(t *testing.T) {
	c, ps := config.ParseCeiling("/c", []byte(onHost(all("fs = [{ path = '/link', access = 'r' }, { path = '/real', access = 'r' }, { path = '${project}/x', access = 'r' }, { path = '/absent', access = 'r' }]")+
		"\n[[plugins]]\nname = 'a'\ngit = [{ repo = '/link', access = 'r' }, { repo = '/repo', access = 'r' }]\n")))
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	got := c.Unresolved(func(path string) (string, error) {
		switch path {
		case "/absent":
			return "/elsewhere", errors.New("there is no such directory")
		case "/real":
			return path, nil
		}
		return "/target" + path, nil
	})
	if !isWindows && !slices.Equal(got, []string{"/link", "/repo"}) {
		t.Errorf("got %q, want the absolute paths that lead elsewhere", got)
	}
}

func TestCeilingRequiresAudit(t *testing.T) {
	requires := &config.Ceiling{Audited: true}
	for name, c := range map[string]struct {
		ceiling *config.Ceiling
		audit   *config.Audit
		file    string
		want    string
	}{
		"no ceiling":                    {nil, nil, "", ""},
		"a ceiling that requires none":  {&config.Ceiling{}, nil, "", ""},
		"a config with an audit log":    {requires, &config.Audit{}, "/b", ""},
		"a config without an audit log": {requires, nil, "/b", "/b has no [audit], and an audit log is required"},
		"no config":                     {requires, nil, "", "there is no config, and an audit log is required"},
	} {
		if got := c.ceiling.AuditProblem(c.audit, c.file); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
