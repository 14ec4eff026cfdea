package config_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

func asks(list string) string { return "[capabilities]\nhttp = [" + list + "]" }

func TestOrigins(t *testing.T) {
	const token = "\n[credentials.token]\nprefix = 'Bearer '\nenv = 'TOKEN'\n"
	for name, c := range map[string]struct {
		decide
		want, problems string
	}{
		"a plugin that asks for none has none": {decide{config: conf("")}, "", ""},
		"without a config none is granted": {decide{caps: asks(`"https://a", "https://b:443"`)}, "",
			`warning /p/plugin.toml:10 capabilities.http: asks for "https://a", "https://b", which only a config file can grant`},
		"a config that names the plugin grants those that the manifest names": {decide{caps: asks(`"https://a", "http://B:8080"`), config: conf("")},
			"https://a,http://b:8080", ""},
		"one on this machine needs the config's word": {decide{caps: asks(`"http://localhost:80"`), config: conf("")}, "http://localhost",
			"warning /p/plugin.toml:10 capabilities.http: asks for http://localhost, which is on this machine or its network and needs a grant that says so"},
		"any is granted only by name": {decide{caps: asks(`"*"`), config: conf("")}, "",
			"warning /p/plugin.toml:10 capabilities.http: asks for any origin, and gets none but those that a config file names"},
		"an empty list grants none":             {decide{caps: asks(`"https://a"`), config: conf("http = []")}, "", ""},
		"the config's replace the asked":        {decide{caps: asks(`"https://a", "https://b"`), config: conf("http = ['https://b']")}, "https://b", ""},
		"where any is asked for any is granted": {decide{caps: asks(`"*"`), config: conf("http = ['https://c']")}, "https://c", ""},
		"one that is not asked for is refused": {decide{caps: asks(`"https://a"`), config: conf("http = [\n'https://a',\n'https://c']")}, "https://a",
			"error /etc/bulkhead.toml:5 plugins[0].http[1]: notes does not ask for https://c; it asks for https://a"},
		"another scheme is another origin": {decide{caps: asks(`"https://a"`), config: conf("http = ['http://a']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for http://a; it asks for https://a"},
		"another port is another origin": {decide{caps: asks(`"https://a"`), config: conf("http = ['https://a:8443']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for https://a:8443; it asks for https://a"},
		"one for a plugin that asks for none is refused": {decide{config: conf("http = ['https://a']")}, "",
			"error /etc/bulkhead.toml:3 plugins[0].http[0]: notes does not ask for https://a"},
		"private and credential are the admin's": {decide{caps: asks(`"http://127.0.0.1:80"`),
			config: conf("http = [{ origin = 'http://127.0.0.1', private = true, credential = 'token' }]" + token)},
			"http://127.0.0.1 private Authorization: Bearer $TOKEN", ""},
		"an address of this machine that is not private is a warning": {decide{caps: asks(`"*"`), config: conf("http = ['https://10.0.0.1']")}, "https://10.0.0.1",
			"warning /etc/bulkhead.toml:3 plugins[0].http[0]: https://10.0.0.1 is on this machine or its network, and is refused as long as the grant does not say so"},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			var got []string
			for _, h := range g.HTTP {
				text := h.Origin.String()
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

func TestRemotes(t *testing.T) {
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
		"any is granted only by name": {decide{caps: caps("'*'"), config: conf("")}, "",
			"warning /p/plugin.toml:10 capabilities.git[0].remotes: asks for any remote, and gets none but those that a config file names"},
		"a config without remotes grants none":  {decide{caps: caps("'https://h/r'"), config: git("")}, "", ""},
		"one in another form is the same":       {decide{caps: caps("'https://h/r'"), config: git("'https://H:443/r/'")}, "https://h/r", ""},
		"where any is asked for any is granted": {decide{caps: caps("'*'"), config: git("'https://c/r', '*'")}, "https://c/r,*", ""},
		"one that is not asked for is refused": {decide{caps: caps("'https://h/r'"), config: git("'https://h/r2'")}, "https://h/r2",
			"error /etc/bulkhead.toml:3 plugins[0].git[0].remotes: notes does not ask for the remote https://h/r2"},
		"all of them are more than one": {decide{caps: caps("'https://h/r'"), config: git("'*'")}, "*",
			"error /etc/bulkhead.toml:3 plugins[0].git[0].remotes: notes does not ask for the remote *"},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			check(t, "remotes", c.want, strings.Join(g.Git[0].Remotes, ","))
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestTheRestOfAGrant(t *testing.T) {
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

func TestPatternsOfPromptsAndResourcesAreChecked(t *testing.T) {
	const claims = "[offers]\nprompts = ['daily', 'weekly']\nresources = ['notes://']"
	for name, c := range map[string]struct {
		decide
		problems string
	}{
		"what the manifest claims can be named": {decide{caps: claims, config: conf("allow_prompts = ['daily']\ndeny_resources = ['notes://x/*']")}, ""},
		"a prompt that is not claimed is an error": {decide{caps: claims, config: conf("deny_prompts = ['daily', 'yearly']")},
			`error /etc/bulkhead.toml:3 plugins[0].deny_prompts[1]: notes has no prompt "yearly"; its prompts are daily, weekly`},
		"a pattern that matches no prompt is a warning": {decide{caps: claims, config: conf("allow_prompts = ['year*']")},
			`warning /etc/bulkhead.toml:3 plugins[0].allow_prompts[0]: "year*" matches no prompt of notes; its prompts are daily, weekly`},
		"where prompts exist at call time only any can be named": {decide{caps: "[offers]\nprompts = true", config: conf("deny_prompts = ['yearly']")}, ""},
		"a plugin without prompts has none to deny": {decide{config: conf("deny_prompts = ['x']")},
			"error /etc/bulkhead.toml:3 plugins[0].deny_prompts: notes offers no prompts"},
		"a plugin without resources has none to allow": {decide{caps: "[offers]\nprompts = true", config: conf("allow_resources = ['x://*']")},
			"error /etc/bulkhead.toml:3 plugins[0].allow_resources: notes offers no resources"},
		"to allow none of nothing is no error": {decide{config: conf("allow_prompts = []\nallow_resources = []")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := c.run(t)
			check(t, "problems", c.problems, strings.Join(problems, "|"))
		})
	}
}

func TestADenyFromCodeIsChecked(t *testing.T) {
	m := &manifest.Manifest{Name: "notes"}
	_, ps := config.Decide(m, config.Plugin{Deny: []string{"/.env"}}, config.Defaults{}, places, config.Flags{})
	if ps.Err() == nil {
		t.Error("a pattern that hides nothing was passed over")
	}
}

func TestFilter(t *testing.T) {
	for name, c := range map[string]struct {
		filter config.Filter
		name   string
		want   bool
	}{
		"nothing said allows all":                       {config.Filter{}, "a", true},
		"an empty list allows none":                     {config.Filter{Allow: []string{}}, "a", false},
		"a name allows itself":                          {config.Filter{Allow: []string{"a"}}, "a", true},
		"and no longer one":                             {config.Filter{Allow: []string{"a"}}, "ab", false},
		"deny wins":                                     {config.Filter{Allow: []string{"*"}, Deny: []string{"a"}}, "a", false},
		"a star takes slashes":                          {config.Filter{Deny: []string{"file://*"}}, "file:///etc/x", false},
		"a star in the middle takes as many as it must": {config.Filter{Allow: []string{"a*b*c"}}, "a/b/b/x/c", true},
		"a star at the end takes nothing too":           {config.Filter{Allow: []string{"a*"}}, "a", true},
		"a question mark takes one character":           {config.Filter{Allow: []string{"a?c"}}, "aéc", true},
		"a question mark takes a slash":                 {config.Filter{Allow: []string{"a?c"}}, "a/c", true},
		"a class takes one of some":                     {config.Filter{Allow: []string{"[a-c]x"}}, "bx", true},
		"a class leaves others":                         {config.Filter{Allow: []string{"[^a-c]x"}}, "bx", false},
		"an escape takes the character":                 {config.Filter{Allow: []string{`\*x`}}, "*x", true},
		"an escape takes nothing else":                  {config.Filter{Allow: []string{`\*x`}}, "ax", false},
		"a deny that cannot be read denies":             {config.Filter{Deny: []string{"["}}, "a", false},
		"an allow that cannot be read allows nothing":   {config.Filter{Allow: []string{"["}}, "[", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.filter.Allowed(c.name); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Where no slash is, a filter's globs are those of path.Match.
func FuzzFilter(f *testing.F) {
	for _, seed := range [][2]string{{"a*b?c", "axxbyc"}, {"[^a-c]*", "x"}, {`\[*`, "[x"}, {"**", ""}, {"*a*a*a*b", "aaaaaaaaaaaa"}, {`[\]-a]`, "a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		for _, s := range []string{glob, name} {
			if len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool { return r == '/' || r >= 0x80 }) {
				return
			}
		}
		want, err := path.Match(glob, name)
		if got := (config.Filter{Allow: []string{glob}}).Allowed(name); got != (want && err == nil) {
			t.Errorf("%q, %q: got %v, want %v, %v", glob, name, got, want, err)
		}
	})
}
