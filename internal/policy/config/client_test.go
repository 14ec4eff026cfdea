package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// client returns a [[clients]] table that matches every principal.
func client(keys string) string {
	return "[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\n" + keys + "\n"
}

func TestClientMatches(t *testing.T) {
	const issuer = "https://id.example"
	jwt := func(subject string, claims map[string]any, groups ...string) *call.Principal {
		return &call.Principal{ID: "oauth:1", Issuer: issuer, Subject: subject, Claims: claims, Groups: groups}
	}
	token := &call.Principal{ID: "token:1", Name: "ci-build"}
	local, bearer := &call.Principal{ID: "local"}, &call.Principal{ID: "bearer"}
	roles := map[string]any{"realm_access": map[string]any{"roles": []any{1.0, "dev"}}, "verified": true, "dept": "it", "realm_access.roles": []any{"boss"}}
	for name, c := range map[string]struct {
		match string
		p     *call.Principal
		want  bool
	}{
		"any client":                        {"auth = 'any'", local, true},
		"no token":                          {"auth = 'none'", local, true},
		"no token, of the bearer":           {"auth = 'none'", bearer, false},
		"the bearer":                        {"auth = 'bearer'", bearer, true},
		"the bearer, of a token":            {"auth = 'bearer'", &call.Principal{ID: "token:2", Name: "bearer"}, false},
		"any named token":                   {"auth = 'token'", token, true},
		"any JWT":                           {"auth = 'oauth'", jwt("s", nil), true},
		"any JWT, of a token":               {"auth = 'oauth'", token, false},
		"a name":                            {"tokens = ['ci-build']", token, true},
		"a pattern of names":                {"tokens = ['x', 'ci-*']", token, true},
		"another name":                      {"tokens = ['ci']", token, false},
		"no names":                          {"tokens = []", token, false},
		"a pattern of names, of the bearer": {"tokens = ['*']", bearer, false},
		"a pattern of names, of a JWT":      {"tokens = ['*']", jwt("s", nil), false},
		"an issuer":                         {"issuer = 'https://id.example'", jwt("s", nil), true},
		"another issuer":                    {"issuer = 'https://id.example/'", jwt("s", nil), false},
		"an issuer, of a token":             {"issuer = 'https://id.example'", token, false},
		"a subject":                         {"issuer = 'https://id.example'\nsubjects = ['a', 's']", jwt("s", nil), true},
		"a subject in other case":           {"issuer = 'https://id.example'\nsubjects = ['S']", jwt("s", nil), false},
		"a subject that looks like a glob":  {"issuer = 'https://id.example'\nsubjects = ['*']", jwt("s", nil), false},
		"no subjects":                       {"issuer = 'https://id.example'\nsubjects = []", jwt("s", nil), false},
		"the subject of another issuer":     {"issuer = 'https://other.example'\nsubjects = ['s']", jwt("s", nil), false},
		"a group":                           {"issuer = 'https://id.example'\ngroups = ['dev']", jwt("s", nil, "ops", "dev"), true},
		"a group that is absent":            {"issuer = 'https://id.example'\ngroups = ['dev']", jwt("s", nil, "ops"), false},
		"no groups":                         {"issuer = 'https://id.example'\ngroups = []", jwt("s", nil, "ops"), false},
		"a string claim":                    {"issuer = 'https://id.example'\nclaims = { dept = ['hr', 'it'] }", jwt("s", roles), true},
		"a boolean claim":                   {"issuer = 'https://id.example'\nclaims = { verified = ['true'] }", jwt("s", roles), true},
		"a boolean claim that differs":      {"issuer = 'https://id.example'\nclaims = { verified = ['false'] }", jwt("s", roles), false},
		"a nested claim":                    {"issuer = 'https://id.example'\nclaims = { realm_access = { roles = ['dev'] } }", jwt("s", roles), true},
		"a nested claim is no dotted one":   {"issuer = 'https://id.example'\nclaims = { realm_access = { roles = ['boss'] } }", jwt("s", roles), false},
		"a dotted claim":                    {"issuer = 'https://id.example'\nclaims = { 'realm_access.roles' = ['boss'] }", jwt("s", roles), true},
		"a claim that is absent":            {"issuer = 'https://id.example'\nclaims = { none = ['x'] }", jwt("s", roles), false},
		"a claim in a string":               {"issuer = 'https://id.example'\nclaims = { dept = { x = ['it'] } }", jwt("s", roles), false},
		"no values":                         {"issuer = 'https://id.example'\nclaims = { dept = [] }", jwt("s", roles), false},
		"two claims, one of which fails":    {"issuer = 'https://id.example'\nclaims = { dept = ['it'], verified = ['no'] }", jwt("s", roles), false},
		"all conditions":                    {"issuer = 'https://id.example'\nsubjects = ['s']\ngroups = ['g']\nclaims = { dept = ['it'] }", jwt("s", roles, "g"), true},
		"all but one condition":             {"issuer = 'https://id.example'\nsubjects = ['s']\ngroups = ['h']\nclaims = { dept = ['it'] }", jwt("s", roles, "g"), false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := parse(t, "[[clients]]\nname = 'c'\n[clients.match]\n"+c.match+"\n")
			_, got := cfg.Clients.Of(c.p)
			if got != c.want {
				t.Errorf("%s matches %+v: %v, want %v", c.match, c.p, got, c.want)
			}
		})
	}
}

// TestFirstMatchingClientDecides checks the order of tables, and what clients without a table get.
func TestFirstMatchingClientDecides(t *testing.T) {
	const tables = "[[clients]]\nname = 'a'\nmatch = { tokens = ['a*'] }\n[[clients]]\nname = 'b'\nmatch = { tokens = ['ab', 'c'] }\n"
	for others, admitted := range map[string]bool{"": false, "[http]\nother_clients = 'none'\n": false, "[http]\nother_clients = 'all'\n": true} {
		cfg := parse(t, others+tables)
		for token, want := range map[string]string{"a": "a", "ab": "a", "c": "b", "d": ""} {
			got, ok := cfg.Clients.Of(&call.Principal{ID: "token:1", Name: token})
			switch {
			case want != "" && (got == nil || got.Name != want || !ok):
				t.Errorf("%q: %s is decided by %v, %v", others, token, got, ok)
			case want == "" && (got != nil || ok != admitted):
				t.Errorf("%q: a client without a table gets %v, %v", others, got, ok)
			}
		}
	}
	if got, ok := parse(t, "").Clients.Of(&call.Principal{ID: "local"}); got != nil || !ok {
		t.Error("without tables a client is not admitted")
	}
}

func TestClientsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[[clients]]\nmatch = { auth = 'any' }":                                                                 "clients[0].name: is missing",
		"[[clients]]\nname = 'a b'\nmatch = { auth = 'any' }":                                                   "clients[0].name: \"a b\" is not a name of a table",
		client(fmt.Sprintf("fs = [%s]\n", strings.Repeat("{ path = '/d', access = 'r' }, ", 129))):              "clients[0].fs: has 129 directories, but a plugin can have at most 128",
		strings.ReplaceAll(client(""), "'c'", "'local'"):                                                        "clients[0].name: \"local\" is what clients without a token of their own are called",
		client("") + client(""):                                                                                 "clients[1].name: is also the name of the table in line 1",
		"[[clients]]\nname = 'c'":                                                                               "clients[0].match: is missing",
		"[[clients]]\nname = 'c'\nmatch = {}":                                                                   "clients[0].match: has no condition",
		"[[clients]]\nname = 'c'\nmatch = 'any'":                                                                "clients[0].match: is a string, not a table",
		"[[clients]]\nname = 'c'\nmatch = { auth = 'no' }":                                                      `clients[0].match.auth: is "no", which is not a valid value`,
		"[[clients]]\nname = 'c'\nmatch = { auth = '' }":                                                        `clients[0].match.auth: is "", which is not a valid value`,
		"[[clients]]\nname = 'c'\nmatch = { auth = 'any', tokens = ['x'] }":                                     "clients[0].match.tokens: conflicts with auth",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', tokens = ['x'] }":                                     "clients[0].match.issuer: conflicts with tokens",
		"[[clients]]\nname = 'c'\nmatch = { tokens = ['[x'] }":                                                  "clients[0].match.tokens[0]: \"[x\" is not a pattern",
		"[[clients]]\nname = 'c'\nmatch = { groups = ['x'] }":                                                   "clients[0].match.issuer: is missing: subjects, groups and claims mean nothing without their issuer",
		"[[clients]]\nname = 'c'\nmatch = { auth = 'any', groups = ['x'] }":                                     "clients[0].match.issuer: is missing",
		"[[clients]]\nname = 'c'\nmatch = { tokens = ['x'], claims = { a = ['x'] } }":                           "clients[0].match.issuer: is missing",
		"[[clients]]\nname = 'c'\nmatch = { issuer = '' }":                                                      "clients[0].match.issuer: is empty",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', subjects = ['\u200b'] }":                              "clients[0].match.subjects[0]: is empty, too long, or contains invisible characters",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', subject = ['a'] }":                                    "clients[0].match.subject: is not a known key",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', claims = {} }":                                        "clients[0].match.claims: has no condition",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', claims = { a = {} } }":                                "clients[0].match.claims.a: has no condition",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', claims = { a = 'x' } }":                               "clients[0].match.claims.a: is a string, not an array of strings",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', claims = {a={a={a={a={a={a={a={a={a=['x']}}}}}}}}} }": "is more than 8 deep",
		"[[clients]]\nname = 'c'\nmatch = { issuer = 'x', claims = {" + members(65) + "} }":                     "clients[0].match.claims: has more than 64 conditions",
		strings.Repeat(client(""), 257):                                                                         "clients: has more than 256 tables",
		client("fs = [{ path = '${client}/x', access = 'r' }]"):                                                 "begins with ${client}",
		client("fs = [{ path = '${project}/x${client}', access = 'r' }]"):                                       "has ${client} beside other characters",
		client("fs = [{ path = '${project}/${client}/../x', access = 'r' }]"):                                   `contains ".."`,
		client("fs = [{ path = '${state}/x', access = 'r' }]"):                                                  "has a variable other than ${project} and ${home}",
		client("fs = [{ path = '${project}/\u200bx', access = 'r' }]"):                                          "contains invisible characters",
		client("git = [{ repo = '${project}/${client}', access = 'r' }]"):                                       "has a variable that is not at the beginning",
		client("http = [{ origin = 'https://a', credential = 'x' }]") + "[credentials.x]\nenv = 'X'\n":          "there is no [credentials.x]",
		client("quota = { burst = 2 }"):                                                                         "clients[0].quota.burst: has no effect without requests_per_second",
		client("quota = { requests_per_second = 0 }"):                                                           "clients[0].quota.requests_per_second: is 0, which is out of range",
		client("allow_write = true"):                                                                            "clients[0].allow_write: is not a known key",
		client("env = { A = 'x' }"):                                                                             "clients[0].env: is a table, not an array of strings",
		"[http]\nother_clients = 'all'\n":                                                                       "http.other_clients: has no effect without [[clients]]",
		"[http]\nother_clients = 'some'\n" + client(""):                                                         `http.other_clients: is "some"`,
	} {
		_, ps := config.Parse("/etc/bulkhead.toml", []byte(onHost(text)))
		if err := ps.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: got the problems %v, want %s", text, ps, want)
		}
	}
}

func members(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("c%d = ['x']", i))
	}
	return strings.Join(all, ", ")
}

// TestClientsOfIncludedFile checks that an included file can have the tables, and that two files cannot: their order would decide.
func TestClientsOfIncludedFile(t *testing.T) {
	files := tree{"/c/main.toml": "include = ['clients.toml']\n", "/c/clients.toml": client("read_only = true")}
	cfg, problems := files.parse()
	if len(problems) > 0 || len(cfg.Clients.Tables) != 1 || plain(cfg.Clients.Tables[0].File) != "/c/clients.toml" {
		t.Errorf("got %+v, %v", cfg.Clients, problems)
	}
	files["/c/main.toml"] += client("")
	if _, problems = files.parse(); len(problems) != 1 || !strings.Contains(problems[0], "clients: is also set in") {
		t.Errorf("two files with tables: %v", problems)
	}
}

// narrowed returns the directories of a grant of a client, and its deny patterns.
func narrowed(g config.Grant) string {
	var out []string
	for _, m := range g.FS {
		text := fmt.Sprintf("%s %s", m.Access, m.Path)
		if m.Within != nil {
			text += fmt.Sprintf(" within %s", m.Within)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ") + " | " + strings.Join(g.Deny, " ")
}

func TestClientNarrowsDirectories(t *testing.T) {
	grant := config.Grant{
		FS: []config.Mount{
			{Path: hostPath("/home/me/work"), Access: manifest.ReadWrite}, {Path: hostPath("/home/me/work/vendor"), Access: manifest.Read},
			{Path: hostPath("/home/me/.state/notes"), Access: manifest.ReadWrite, State: true},
		},
		Deny: []string{"**/.env", "docs/private/**", "build/*/out", "secret"},
	}
	const state, deny = "; rw /home/me/.state/notes", " | **/.env docs/private/** build/*/out secret"
	own := []string{hostPath("/home/me/work/host"), hostPath("/home/me/cache")}
	for name, c := range map[string]struct{ keys, dir, want string }{
		"no bounds":                        {"", "", "rw /home/me/work; r /home/me/work/vendor" + state + deny},
		"nothing":                          {"fs = []", "", "rw /home/me/.state/notes" + deny},
		"the same":                         {"fs = [{ path = '${project}', access = 'rw' }]", "", "rw /home/me/work within [/home/me/work]; r /home/me/work/vendor within [/home/me/work]" + state + deny},
		"reading":                          {"fs = [{ path = '${home}', access = 'r' }]", "", "r /home/me/work within [/home/me]; r /home/me/work/vendor within [/home/me]" + state + deny},
		"read_only":                        {"read_only = true", "", "r /home/me/work; r /home/me/work/vendor" + state + deny},
		"a part":                           {"fs = [{ path = '${project}/src', access = 'rw' }]", "", "rw /home/me/.state/notes; rw /home/me/work/src within [/home/me/work/src]" + deny},
		"a part, for reading":              {"fs = [{ path = '${project}/src', access = 'r' }]", "", "rw /home/me/.state/notes; r /home/me/work/src within [/home/me/work/src]" + deny},
		"a part, read_only":                {"read_only = true\nfs = [{ path = '${project}/src', access = 'rw' }]", "", "rw /home/me/.state/notes; r /home/me/work/src within [/home/me/work/src]" + deny},
		"a part twice":                     {"fs = [{ path = '${project}/src', access = 'r' }, { path = '/home/me/work/src', access = 'rw' }]", "", "rw /home/me/.state/notes; rw /home/me/work/src within [/home/me/work/src]" + deny},
		"a part of what is only readable":  {"fs = [{ path = '${project}/vendor/x', access = 'rw' }]", "", "rw /home/me/.state/notes; r /home/me/work/vendor/x within [/home/me/work/vendor/x]" + deny},
		"a part with hidden files":         {"fs = [{ path = '${project}/docs', access = 'r' }]", "", "rw /home/me/.state/notes; r /home/me/work/docs within [/home/me/work/docs]" + deny + " private/**"},
		"a part in a part":                 {"fs = [{ path = '${project}/build/x', access = 'r' }]", "", "rw /home/me/.state/notes; r /home/me/work/build/x within [/home/me/work/build/x]" + deny + " out"},
		"a hidden directory":               {"fs = [{ path = '${project}/docs/private', access = 'r' }]", "", "rw /home/me/.state/notes" + deny},
		"a hidden directory in other case": {"fs = [{ path = '${project}/Docs/PRIVATE', access = 'r' }]", "", "rw /home/me/.state/notes" + deny},
		"one in a hidden directory":        {"fs = [{ path = '${project}/secret/x', access = 'r' }]", "", "rw /home/me/.state/notes" + deny},
		"one that is .env":                 {"fs = [{ path = '${project}/a/.env', access = 'r' }]", "", "rw /home/me/.state/notes" + deny},
		"a directory of the host":          {"fs = [{ path = '${project}/host/x', access = 'r' }]", "", "rw /home/me/.state/notes" + deny},
		"one in a config":                  {"fs = [{ path = '${project}/bulkhead.toml/x', access = 'r' }]", "", "rw /home/me/.state/notes" + deny},
		"one outside":                      {"fs = [{ path = '/home/me/other', access = 'r' }]", "", "rw /home/me/.state/notes" + deny},
		"one for reading in all":           {"fs = [{ path = '${project}', access = 'rw' }, { path = '${project}/src', access = 'r' }]", "", "rw /home/me/work within [/home/me/work]; r /home/me/work/vendor within [/home/me/work]" + state + "; r /home/me/work/src within [/home/me/work/src]" + deny},
		"of a principal":                   {"fs = [{ path = '${project}/users/${client}', access = 'rw' }]", "abc", "rw /home/me/.state/notes; rw /home/me/work/users/abc within [/home/me/work/users/abc]" + deny},
		"of a principal without a value":   {"fs = [{ path = '${project}/users/${client}', access = 'rw' }]", "", "rw /home/me/.state/notes" + deny},
	} {
		t.Run(name, func(t *testing.T) {
			table := parse(t, onHost(client(c.keys))).Clients.Tables[0]
			at := places
			at.Client = c.dir
			got := table.Narrow(&manifest.Manifest{Name: "notes"}, config.Plugin{}, at, own, grant)
			check(t, "directories", c.want, narrowed(got))
		})
	}
}

// FuzzClient checks that a client's grant exceeds neither that of the plugin nor the ceiling, that narrowing twice changes nothing, and that
// a table behind the first one that matches has no effect.
func FuzzClient(f *testing.F) {
	f.Add([]byte("read_only = true\nfs = [{ path = '${project}/a', access = 'rw' }]\nhttp = ['https://a']\nenv = ['A*']\nlimits = { time = '1s', fuel = 1 }\nallow_prompts = ['a*']"),
		[]byte("fs = [{ path = '${project}', access = 'rw' }]\nhttp = ['https://a', 'https://b']\ngit = [{ repo = '${project}', access = 'rw', remotes = ['*'] }]\nenv = { A = '', B = '' }\ndeny = ['a/b', '**/x']"),
		[]byte("fs = [{ path = '/home', access = 'r' }]"))
	f.Add([]byte("allow_tools = ['a']\ndeny_resources = ['x*']\nask = []\nisolation = 'pristine'"), []byte("isolation = 'reused'\nallow_write = true\nallow_resources = ['x*', 'y']"), []byte("deny_tools = ['a']"))
	f.Add([]byte("fs = [{ path = '${project}/${client}', access = 'rw' }, { path = '${home}', access = 'r' }]\ndeny = ['q']"), []byte("fs = [{ path = '${home}/x', access = 'r' }, { path = '${project}', access = 'rw' }]"), []byte(""))
	f.Add([]byte("approve_writes = true\nread_only = true"), []byte("approve_tools = ['b']"), []byte("approve_tools = ['a*']"))
	m := &manifest.Manifest{Name: "notes", Capabilities: manifest.Capabilities{Env: []string{"*"}, HTTP: []string{"*", "public-web"},
		Git: []manifest.Git{{Repo: "*", Access: "rw", Remotes: []string{"*"}}}, FS: []manifest.FS{{Path: "${project}", Access: "rw"}}},
		Tools: []manifest.Tool{{Name: "a", Write: true}, {Name: "b"}}, Offers: manifest.Offers{Prompts: manifest.Claim{Any: true}, Resources: manifest.Claim{Any: true}}}
	f.Fuzz(func(t *testing.T, table, plugin, ceiling []byte) {
		text := conf(string(plugin)) + "\n" + client(string(table)) + "[[clients]]\nname = 'second'\nmatch = { auth = 'any' }\n"
		cfg, ps := config.ParseWith("/etc/bulkhead.toml", []byte(onHost(text)), tree{}.read)
		bound, more := config.ParseCeiling("/etc/bulkhead/bulkhead.toml", []byte(onHost(all(string(ceiling)))))
		if ps.Err() != nil || more.Err() != nil || len(cfg.Plugins) != 1 || len(cfg.Clients.Tables) != 2 {
			return
		}
		p := cfg.Plugins[0]
		p.SHA256 = ""
		decided, problems := config.Decide(m, p, cfg.Defaults, places, config.Flags{Env: map[string]string{"C": ""}})
		if problems.Err() != nil {
			return
		}
		before, problems := bound.Narrow(m, p, places, decided)
		if problems.Err() != nil {
			return
		}
		first, _ := cfg.Clients.Of(&call.Principal{ID: "local"})
		if first == nil || first.Name != "c" {
			t.Fatalf("the table %+v decides", first)
		}
		at := places
		at.Client = "0123"
		after := first.Narrow(m, p, at, nil, before)
		checkClient(t, first, before, after)
		checkApprovals(t, first.Bounds, before, after)
		again := first.Narrow(m, p, at, nil, after)
		again.Cuts, after.Cuts, again.Prompts, after.Prompts, again.Resources, after.Resources = nil, nil, config.Filter{}, config.Filter{}, config.Filter{}, config.Filter{}
		check(t, "narrowed twice", plain(fmt.Sprintf("%+v", after)), fmt.Sprintf("%+v", again))
	})
}

// checkClient is checkNarrowed for a client: a directory may be a part of a granted one.
func checkClient(t *testing.T, c *config.Client, before, after config.Grant) {
	t.Helper()
	bounds := c.Bounds
	bounds.FS = nil
	parts := after
	parts.FS = nil
	checkNarrowed(t, &config.Ceiling{All: bounds}, before, parts)
	at := func(mounts []config.Mount, path string) *config.Mount {
		var found *config.Mount
		for i := range mounts {
			if contain.Within(mounts[i].Path, path) && (found == nil || len(mounts[i].Path) > len(found.Path)) {
				found = &mounts[i]
			}
		}
		return found
	}
	for _, m := range after.FS {
		had := at(before.FS, m.Path)
		if had == nil || had.State != m.State || m.Access == manifest.ReadWrite && had.Access != manifest.ReadWrite {
			t.Errorf("mount %+v was not granted", m)
			continue
		}
		if m.Path != had.Path && !slices.Equal(m.Within, []string{m.Path}) {
			t.Errorf("mount %+v may resolve to another directory", m)
		}
		allows := func(f manifest.FS) bool {
			dir, missing := places.Resolve(strings.ReplaceAll(f.Path, "${client}", "0123"), "")
			return missing == "" && contain.Within(dir, m.Path) && (m.Access == manifest.Read || f.Access == manifest.ReadWrite)
		}
		if !m.State && c.FS != nil && !slices.ContainsFunc(c.FS, allows) || !m.State && c.ReadOnly && m.Access != manifest.Read {
			t.Errorf("mount %+v exceeds the client's table", m)
		}
	}
	for _, name := range []string{"", "a", "x", "xy", "y", "z", "x/a"} {
		for _, f := range []struct{ before, table, after config.Filter }{{before.Prompts, c.Prompts, after.Prompts}, {before.Resources, c.Resources, after.Resources}} {
			if want := f.before.Allowed(name) && f.table.Allowed(name); f.after.Allowed(name) != want {
				t.Errorf("%+v and %+v: %q is allowed: %v", f.before, f.table, name, !want)
			}
			if f.after.Allowed(name+"b") && !f.after.AllowedBelow(name) {
				t.Errorf("%+v denies all names that begin with %q, and allows %q", f.after, name, name+"b")
			}
		}
	}
	for _, kind := range after.Ask {
		if !slices.Contains(before.Ask, kind) || c.Ask != nil && !slices.Contains(c.Ask, kind) {
			t.Errorf("asking for %s exceeds the grant or the table", kind)
		}
	}
}
