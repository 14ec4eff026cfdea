package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func httpCaps(list string) string { return "[capabilities]\nhttp = [" + list + "]" }

func TestDecideOrigins(t *testing.T) {
	const token = "\n[credentials.token]\nprefix = 'Bearer '\nenv = 'TOKEN'\n"
	for name, c := range map[string]struct {
		decide
		want, problems string
	}{
		"a plugin that requests none gets none": {decide{config: conf("")}, "", ""},
		"without a config none is granted": {decide{caps: httpCaps(`"https://a", "https://b:443"`)}, "",
			`warning /p/plugin.toml:10 capabilities.http: asks for "https://a", "https://b", which only a config file can grant`},
		"a config that names the plugin grants those that the manifest names": {decide{caps: httpCaps(`"https://a", "http://B:8080"`), config: conf("")},
			"https://a,http://b:8080", ""},
		"a local origin requires private = true": {decide{caps: httpCaps(`"http://localhost:80"`), config: conf("")}, "http://localhost",
			"warning /p/plugin.toml:10 capabilities.http: asks for http://localhost, which is on this machine or its network and needs private = true"},
		"a request for any grants none": {decide{caps: httpCaps(`"*"`), config: conf("")}, "",
			"warning /p/plugin.toml:10 capabilities.http: asks for any origin, but is granted only those that a config file names"},
		"an empty list grants none":                       {decide{caps: httpCaps(`"https://a"`), config: conf("http = []")}, "", ""},
		"the config's origins replace the requested ones": {decide{caps: httpCaps(`"https://a", "https://b"`), config: conf("http = ['https://b']")}, "https://b", ""},
		"a request for any allows any":                    {decide{caps: httpCaps(`"*"`), config: conf("http = ['https://c']")}, "https://c", ""},
		"an unrequested one is refused": {decide{caps: httpCaps(`"https://a"`), config: conf("http = [\n'https://a',\n'https://c']")}, "https://a",
			"error /etc/bulkhead.toml:5 plugins[0].http[1]: notes does not ask for https://c; it asks for https://a"},
		"another scheme is another origin": {decide{caps: httpCaps(`"https://a"`), config: conf("http = ['http://a']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for http://a; it asks for https://a"},
		"another port is another origin": {decide{caps: httpCaps(`"https://a"`), config: conf("http = ['https://a:8443']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for https://a:8443; it asks for https://a"},
		"one for a plugin that requests none is refused": {decide{config: conf("http = ['https://a']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for https://a"},
		"private and credential are taken from the config": {decide{caps: httpCaps(`"http://127.0.0.1:80"`),
			config: conf("http = [{ origin = 'http://127.0.0.1', private = true, credential = 'token' }]" + token)},
			"http://127.0.0.1 private Authorization: Bearer $TOKEN", ""},
		"a local address without private is a warning": {decide{caps: httpCaps(`"*"`), config: conf("http = ['https://10.0.0.1']")}, "https://10.0.0.1",
			"warning /etc/bulkhead.toml:3 plugins[0].http[0]: https://10.0.0.1 is on this machine or its network, and is refused without private = true"},
		"the public web is not granted by a request": {decide{caps: httpCaps(`"public-web", "https://a"`), config: conf("")}, "https://a",
			"warning /p/plugin.toml:10 capabilities.http: asks for any public web server (http on port 80, https on port 443), which only a config file that says so grants"},
		"the public web is not granted without a config": {decide{caps: httpCaps(`"public-web"`)}, "",
			"warning /p/plugin.toml:10 capabilities.http: asks for any public web server (http on port 80, https on port 443), which only a config file that says so grants"},
		"the public web is granted by its name": {decide{caps: httpCaps(`"public-web"`), config: conf("http = ['public-web']")}, "public-web", ""},
		"a request for any is none for the public web": {decide{caps: httpCaps(`"*"`), config: conf("http = ['public-web']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for public-web"},
		"a request for an origin is none for the public web": {decide{caps: httpCaps(`"https://a"`), config: conf("http = ['public-web']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for public-web; it asks for https://a"},
		"a request for the public web allows its origins": {decide{caps: httpCaps(`"public-web"`), config: conf("http = ['https://c', 'http://d:80']")}, "https://c,http://d", ""},
		"the public web has no other ports": {decide{caps: httpCaps(`"public-web"`), config: conf("http = ['https://c:8443']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for https://c:8443; it asks for public-web"},
		"the public web has no private servers": {decide{caps: httpCaps(`"public-web"`), config: conf("http = [{ origin = 'https://c', private = true }]")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes asks for the public web, which https://c with private = true is not part of"},
		"the public web beside a private server": {decide{caps: httpCaps(`"public-web", "*"`), config: conf("http = ['public-web', { origin = 'http://127.0.0.1:8080', private = true }]")},
			"public-web,http://127.0.0.1:8080 private", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			var got []string
			for _, h := range g.HTTP {
				text := h.String()
				if h.Private {
					text += " private"
				}
				if h.Credential != nil {
					text += fmt.Sprintf(" %s: %s$%s", h.Credential.Header, h.Credential.Prefix, h.Credential.Env)
				}
				got = append(got, text)
			}
			check(t, "origins", c.want, strings.Join(got, ","))
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestDecideRemotes(t *testing.T) {
	caps := func(remotes string) string {
		return "[capabilities]\ngit = [{ repo = '${project}', access = 'r', remotes = [" + remotes + "] }]"
	}
	git := func(remotes string) string {
		return conf("git = [{ repo = '${project}', access = 'r', remotes = [" + remotes + "] }]")
	}
	for name, c := range map[string]struct {
		decide
		want, problems string
	}{
		"without a config none is granted": {decide{caps: caps("'https://h/r'")}, "",
			"warning /p/plugin.toml:10 capabilities.git[0].remotes: asks for https://h/r, which only a config file can grant"},
		"a config that names the plugin grants those that the manifest names": {decide{caps: caps("'https://H/r/', 'https://h:443/r'"), config: conf("")}, "https://h/r", ""},
		"a request for any grants none": {decide{caps: caps("'*'"), config: conf("")}, "",
			"warning /p/plugin.toml:10 capabilities.git[0].remotes: asks for any remote, but is granted only those that a config file names"},
		"a config without remotes grants none": {decide{caps: caps("'https://h/r'"), config: git("")}, "", ""},
		"two grants of a repository are merged": {decide{caps: caps("'*'"), config: conf("git = [{ repo = '${project}', access = 'r', remotes = ['https://a/r', 'https://b/r'] }, " +
			"{ repo = '${project}', access = 'r', remotes = ['https://b/r', 'https://c/r'] }]")}, "https://a/r,https://b/r,https://c/r", ""},
		"remotes are normalized":       {decide{caps: caps("'https://h/r'"), config: git("'https://H:443/r/'")}, "https://h/r", ""},
		"a request for any allows any": {decide{caps: caps("'*'"), config: git("'https://c/r', '*'")}, "https://c/r,*", ""},
		"an unrequested one is refused": {decide{caps: caps("'https://h/r'"), config: git("'https://h/r2'")}, "https://h/r2",
			"error /etc/bulkhead.toml:3 plugins[0].git[0].remotes: notes does not ask for the remote https://h/r2"},
		"any remote exceeds a request for one": {decide{caps: caps("'https://h/r'"), config: git("'*'")}, "*",
			"error /etc/bulkhead.toml:3 plugins[0].git[0].remotes: notes does not ask for the remote *"},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			check(t, "remotes", c.want, strings.Join(g.Git[0].Remotes, ","))
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestDecideGrantsOtherKeys(t *testing.T) {
	g, _ := decide{}.run(t)
	if g.Reused || g.Prefix != "" || g.Deny != nil || !g.Prompts.Allowed("a") || !g.Resources.Allowed("x://a") {
		t.Errorf("without a config: %+v", g)
	}
	g, problems := decide{caps: "[offers]\nprompts = true\nresources = true", config: "[defaults]\ndeny = ['**/.env', 'a']\n" +
		conf("deny = ['a', '**/*.{pem,key}']\nisolation = 'reused'\nprefix = 'n.'\ndeny_prompts = ['x']\nallow_resources = ['a://*']")}.run(t)
	if len(problems) > 0 || !g.Reused || g.Prefix != "n." || strings.Join(g.Deny, " ") != "**/.env a **/*.{pem,key}" ||
		g.Prompts.Allowed("x") || g.Resources.Allowed("b://c") {
		t.Errorf("with one: %+v, %v", g, problems)
	}
}

func TestDenyOfTableReplacesDenyOfManifest(t *testing.T) {
	const asks = "[capabilities]\ndeny = ['**/.env', '**/*.key']"
	for name, c := range map[string]struct{ config, want string }{
		"without a config":      {"", "**/.env **/*.key"},
		"a table without deny":  {"[defaults]\ndeny = ['**/.env', 'a']\n" + conf(""), "**/.env a **/*.key"},
		"a table with deny":     {conf("deny = ['a']"), "a"},
		"a table that has none": {conf("deny = []"), ""},
	} {
		g, problems := decide{caps: asks, config: c.config}.run(t)
		if got := strings.Join(g.Deny, " "); got != c.want || len(problems) > 0 {
			t.Errorf("%s: got %q, want %q; %v", name, got, c.want, problems)
		}
	}
}

func TestDecideChecksPromptAndResourceFilters(t *testing.T) {
	const claims = "[offers]\nprompts = ['daily', 'weekly']\nresources = ['notes://']"
	for name, c := range map[string]struct {
		decide
		problems string
	}{
		"claimed names are valid": {decide{caps: claims, config: conf("allow_prompts = ['daily']\ndeny_resources = ['notes://x/*']")}, ""},
		"a prompt that is not claimed is an error": {decide{caps: claims, config: conf("deny_prompts = ['daily', 'yearly']")},
			`error /etc/bulkhead.toml:3 plugins[0].deny_prompts[1]: notes has no prompt "yearly"; its prompts are daily, weekly`},
		"a pattern that matches no prompt is a warning": {decide{caps: claims, config: conf("allow_prompts = ['year*']")},
			`warning /etc/bulkhead.toml:3 plugins[0].allow_prompts[0]: "year*" matches no prompt of notes; its prompts are daily, weekly`},
		"any name is valid if all prompts are claimed": {decide{caps: "[offers]\nprompts = true", config: conf("deny_prompts = ['yearly']")}, ""},
		"a plugin without prompts has none to deny": {decide{config: conf("deny_prompts = ['x']")},
			"error /etc/bulkhead.toml:3 plugins[0].deny_prompts: notes offers no prompts"},
		"a plugin without resources has none to allow": {decide{caps: "[offers]\nprompts = true", config: conf("allow_resources = ['x://*']")},
			"error /etc/bulkhead.toml:3 plugins[0].allow_resources: notes offers no resources"},
		"empty lists are always valid": {decide{config: conf("allow_prompts = []\nallow_resources = []")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := c.run(t)
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestDecideChecksDenyPatterns(t *testing.T) {
	m := &manifest.Manifest{Name: "notes"}
	_, ps := config.Decide(m, config.Plugin{Deny: []string{"/.env"}}, config.Defaults{}, places, config.Flags{})
	if ps.Err() == nil {
		t.Error("a pattern that matches nothing was accepted")
	}
}

// TestRemedyOfPluginInDevelopment checks that the remedy does not name the directory of a build, which is temporary.
func TestRemedyOfPluginInDevelopment(t *testing.T) {
	const text = "manifest = 1\n[plugin]\nname = 'notes'\nversion = '1.0.0'\ndescription = 'x'\n[module]\nfile = 'm.wasm'\n[capabilities]\nask = ['roots']\n"
	m, problems := manifest.Parse("/src/notes/plugin.toml", []byte(text))
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	for source, want := range map[string]string{
		"":           "name the plugin in a config: `bulkhead add /tmp/build/notes`",
		"/src/notes": `pass --config FILE, with [[plugins]] and path = "/src/notes"`,
	} {
		_, problems := config.Decide(m, config.Plugin{Path: "/tmp/build/notes", Source: source}, config.Defaults{}, places, config.Flags{})
		if len(problems) != 1 || problems[0].Remedy != want {
			t.Errorf("source %q: got %v, want the remedy %q", source, problems, want)
		}
	}
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "a.localhost": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "10.0.0.1": true, "172.16.0.1": true, "192.168.1.1": true,
		"fc00::1": true, "169.254.169.254": true, "fe80::1": true, "0.0.0.0": true, "::": true,
		"8.8.8.8": false, "172.32.0.1": false, "2001:db8::1": false, "example.com": false, "mylocalhost": false, "localhost.example.com": false,
	} {
		if got := config.IsLocal(host); got != want {
			t.Errorf("IsLocal(%s) = %t, want %t", host, got, want)
		}
	}
}

// A key in a config replaces everything that the manifest requests, so a remedy that names only what is missing would withdraw the rest.
func TestRemediesRepeatOtherGrants(t *testing.T) {
	const head = "manifest = 1\n[plugin]\nname = 'notes'\nversion = '1.0.0'\ndescription = 'x'\n[module]\nfile = 'm.wasm'\n"
	for name, c := range map[string]struct{ manifest, want string }{
		"directories": {fs("${project}/a r", "${home} r", "/srv rw", "${state} rw", "/opt r optional", "/home rw"),
			`write fs = [{ path = "${project}/a", access = "r" }, { path = "${home}", access = "r" }, { path = "/srv", access = "rw" }] for the plugin in bulkhead.toml`},
		"repositories": {"[[capabilities.git]]\nrepo = '*'\naccess = 'rw'\nremotes = ['*']\n[[capabilities.git]]\nrepo = '${project}'\naccess = 'r'\n[[capabilities.git]]\nrepo = '/r'\naccess = 'r'\n",
			`write git = [{ repo = "/path/to/it", access = "rw", remotes = ["https://…"] }, { repo = "${project}", access = "r" }, { repo = "/r", access = "r" }] for the plugin in bulkhead.toml`},
		"a repository without remotes": {"[[capabilities.git]]\nrepo = '/r'\naccess = 'rw'\n[[capabilities.git]]\nrepo = '*'\naccess = 'r'\n[[capabilities.git]]\nrepo = '/s'\naccess = 'rw'\n",
			`write git = [{ repo = "/r", access = "rw" }, { repo = "/s", access = "r" }] for the plugin in bulkhead.toml`},
		"origins": {"[capabilities]\nhttp = ['https://a', '*', 'http://localhost']\n",
			`write http = ["https://a", { origin = "http://localhost", private = true }] for the plugin in bulkhead.toml`},
		"the public web": {"[capabilities]\nhttp = ['https://a', 'public-web']\n", `write http = ["https://a", "public-web"] for the plugin in bulkhead.toml`},
		"any origin":     {"[capabilities]\nhttp = ['https://a', '*']\n", `write http = ["https://a", "https://…"] for the plugin in bulkhead.toml`},
	} {
		t.Run(name, func(t *testing.T) {
			m, ps := manifest.Parse(hostPath("/p/plugin.toml"), []byte(onHost(head+c.manifest)))
			if ps.Err() != nil {
				t.Fatal(ps)
			}
			_, ps = config.Decide(m, config.Plugin{Path: "p", Line: 1, File: "/b"}, config.Defaults{}, places, config.Flags{})
			if len(ps) == 0 || plain(ps[0].Remedy) != c.want {
				t.Errorf("got %v, want the remedy %s", ps, c.want)
			}
		})
	}
}

// TestTooManyDirectoriesAreAnErrorAtTheirLine has one more than a worker can be given, which would otherwise fail only when the plugin is called.
func TestTooManyDirectoriesAreAnErrorAtTheirLine(t *testing.T) {
	repeat := func(format string, n int) (text string) {
		for i := range n {
			text += fmt.Sprintf(format, i)
		}
		return text
	}
	const repositories = "[[capabilities.git]]\nrepo = \"${project}/%d\"\naccess = \"r\"\n"
	for name, c := range map[string]struct {
		directories, repositories int
		ceiling, want             string
	}{
		"128":          {126, 0, "", ""}, // beside the project and the state directory
		"a ceiling":    {200, 0, "[ceiling]\nfs = [{ path = \"/home\", access = \"r\" }]\n", "warning"},
		"directories":  {99, 28, "", ":3 plugins[0].fs: grants 129 directories and repositories, but a plugin can have at most 128"},
		"repositories": {27, 100, "", ":1 plugins[0].git: grants 129 directories"}, // of the manifest, so that the config has no line for them
	} {
		_, problems := decide{
			caps:    "[[capabilities.fs]]\npath = \"${project}\"\naccess = \"r\"\n" + repeat(repositories, c.repositories),
			config:  "[[plugins]]\npath = \"/p\"\nfs = [{ path = \"${project}\", access = \"r\" }, " + repeat("{ path = \"/d/%d\", access = \"r\" }, ", c.directories) + "]\n",
			ceiling: c.ceiling,
		}.run(t)
		if got := strings.Join(problems, "\n"); strings.Contains(got, "error") != strings.Contains(c.want, ":") || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
