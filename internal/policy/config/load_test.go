package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

const full = `[server]
name = "bulkhead"

[defaults]
deny = ["**/.env"]
[defaults.limits]
time = "30s"

[audit]
file = "/var/log//bulkhead.jsonl"
max_size = "64KiB"
keep = 3
arguments = "none"
on_failure = "closed"

[credentials.token]
header = "X-Token"
prefix = "Bearer "
env = "API_TOKEN"
[credentials."from-file"]
file = "/etc/b/token"

[[plugins]]
path = "plugins/notes"
prefix = "n."
sha256 = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
allow_tools = ["notes_*"]
deny_tools = []
allow_prompts = ["p*"]
deny_prompts = []
allow_resources = []
deny_resources = ["notes://*"]
read_only = true
allow_write = false
fs = [{ path = "${project}/x", access = "rw" }]
deny = ["**/*.pem"]
http = ["https://api.example.com", { origin = "http://127.0.0.1:8080", private = true, credential = "token" },
    { origin = "https://b.example.com", credential = "from-file" }]
git = [{ repo = "${project}", access = "rw", remotes = ["https://example.com/r"] }]
env = { USER = "me" }
limits = { memory = "32MiB", time = "5s", concurrency = 4 }
isolation = "reused"

[[plugins]]
path = "/opt/other/"
`

func TestParseReadsEveryKey(t *testing.T) {
	file := hostPath("/etc/b/bulkhead.toml")
	c, ps := config.Parse(file, []byte(onHost(full)))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	token := &config.Credential{Name: "token", Header: "X-Token", Prefix: "Bearer ", Env: "API_TOKEN", Source: file, Line: 16}
	fromFile := &config.Credential{Name: "from-file", Header: "Authorization", File: hostPath("/etc/b/token"), Source: file, Line: 20}
	want := &config.Config{
		File: file, Server: &config.Server{Name: "bulkhead"},
		Defaults:    config.Defaults{Limits: manifest.Limits{Time: 30 * time.Second}, Deny: []string{"**/.env"}},
		Audit:       &config.Audit{File: hostPath("/var/log/bulkhead.jsonl"), MaxSize: 64 << 10, Keep: 3, Arguments: "none", OnFailure: "closed", Source: file, Line: 10},
		Credentials: []*config.Credential{token, fromFile},
		Plugins: []config.Plugin{
			{Path: hostPath("/etc/b/plugins/notes"), SHA256: "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
				Prefix: "n.", AllowTools: []string{"notes_*"}, DenyTools: []string{}, ReadOnly: true,
				Prompts:   config.Filter{Allow: []string{"p*"}, Deny: []string{}},
				Resources: config.Filter{Allow: []string{}, Deny: []string{"notes://*"}},
				FS:        []manifest.FS{{Path: "${project}/x", Access: "rw", Line: 35}},
				Deny:      []string{"**/*.pem"},
				HTTP: []config.HTTP{{Origin: parseOrigin(t, "https://api.example.com")},
					{Origin: parseOrigin(t, "http://127.0.0.1:8080"), Private: true, Credential: token},
					{Origin: parseOrigin(t, "https://b.example.com"), Credential: fromFile}},
				Git: []manifest.Git{{Repo: "${project}", Access: "rw", Remotes: []string{"https://example.com/r"}, Line: 39}},
				Env: map[string]string{"USER": "me"}, Limits: manifest.Limits{Memory: 32 << 20, Time: 5 * time.Second, Concurrency: 4},
				Isolation: config.IsolationReused, Line: 23, File: file, Dir: hostPath("/etc/b"), Key: "plugins[0]"},
			{Path: hostPath("/opt/other"), Isolation: config.IsolationPristine, Line: 44, File: file, Dir: hostPath("/etc/b"), Key: "plugins[1]"},
		},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreFields(config.Plugin{}, "Lines"), cmpopts.IgnoreFields(config.Config{}, "Files"), cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Error(diff)
	}
	if len(ps) > 0 {
		t.Errorf("problems: %v", ps)
	}
}

func parseOrigin(t *testing.T, text string) origin.Origin {
	t.Helper()
	o, err := origin.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestParseReadsServer(t *testing.T) {
	for text, want := range map[string]config.Server{
		"[server]\nname = 'x'":                  {Name: "x"},
		"[server]\nname = 'x'\ntitle = 'Our x'": {Name: "x", Title: "Our x"},
		"[server]\nmemory = '1GiB'":             {Memory: 1 << 30},
		"[server]\nconfinement = 'required'":    {Confined: true},
		"[server]\nconfinement = 'available'":   {},
		"[server]\ndrain = '5s'":                {Drain: 5 * time.Second},
		"[server]\nname = 'x'\ndrain = '100ms'": {Name: "x", Drain: 100 * time.Millisecond},
	} {
		c, ps := config.Parse("/etc/bulkhead.toml", []byte(text))
		if diff := cmp.Diff(&want, c.Server); diff != "" || len(ps) > 0 {
			t.Errorf("%s: %v %s", text, ps, diff)
		}
	}
}

func TestParseSetsAuditDefaults(t *testing.T) {
	c, ps := config.Parse("/etc/bulkhead.toml", []byte(onHost("[audit]\nfile = '/a'\n")))
	want := &config.Audit{File: hostPath("/a"), MaxSize: 64 << 20, Keep: 5, Arguments: "hash", OnFailure: "open", Source: "/etc/bulkhead.toml", Line: 2}
	if diff := cmp.Diff(want, c.Audit); diff != "" || len(ps) > 0 {
		t.Error(ps, diff)
	}
}

func TestParseWarnsOfUnusedCredential(t *testing.T) {
	_, ps := config.Parse("/etc/bulkhead.toml", []byte("[credentials.a]\nenv = 'A'\n"))
	if len(ps) != 1 || !ps[0].Warning || ps[0].Key != "credentials.a" || ps[0].Line != 1 {
		t.Error(ps)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a plugin with path and name":                       {conf("name = 'notes'"), "3 plugins[0].name: conflicts with path keep one of the two"},
		"a reference and a path":                            {conf("from = 'file:/x.tar'\nsha256 = '" + digest + "'"), "3 plugins[0].from: conflicts with path keep one of the two"},
		"a reference and a name":                            {"[[plugins]]\nname = 'a'\nfrom = 'file:/x.tar'\nsha256 = '" + digest + "'", "3 plugins[0].from: conflicts with name keep one of the two"},
		"a reference without a digest":                      {"[[plugins]]\nfrom = 'file:/x.tar'", "2 plugins[0].from: requires sha256"},
		"an empty reference":                                {"[[plugins]]\nfrom = ''\nsha256 = '" + digest + "'", "2 plugins[0].from: is empty"},
		"a reference with control characters":               {"[[plugins]]\nfrom = \"file:/x\\u001b\"\nsha256 = '" + digest + "'", "invisible characters"},
		"a signer without a reference":                      {conf("signer = 'RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3'"), "3 plugins[0].signer: applies to plugins with from only"},
		"a signer that is no key":                           {"[[plugins]]\nfrom = 'file:/x.tar'\nsha256 = '" + digest + "'\nsigner = 'ada'", `4 plugins[0].signer: "ada" is no public key of minisign`},
		"a version without a reference":                     {conf("version = '1.0.0'"), "3 plugins[0].version: requires from"},
		"an invalid version":                                {"[[plugins]]\nfrom = 'file:/x.tar'\nversion = '>=1.0.0'\nsha256 = '" + digest + "'", `3 plugins[0].version: ">=1.0.0" is not a version`},
		"two references with one digest":                    {"[[plugins]]\nfrom = 'file:/x.tar'\nsha256 = '" + digest + "'\n[[plugins]]\nfrom = 'file:/y.tar'\nsha256 = '" + digest + "'", "6 plugins[1].sha256: is also the digest of the plugin in line 3"},
		"a name that is a path":                             {"[[plugins]]\nname = '../notes'", `2 plugins[0].name: "../notes" is not the name of a plugin`},
		"an empty name of a plugin":                         {"[[plugins]]\nname = ''", `2 plugins[0].name: "" is not the name of a plugin`},
		"a name twice":                                      {"[[plugins]]\nname = 'a'\n[[plugins]]\nname = 'a'", "4 plugins[1].name: is also the name of the plugin in line 2"},
		"an unknown table":                                  {"[servers]\nname='x'", `1 servers: is not a known key did you mean "server"?`},
		"an unknown key":                                    {conf("allow_tool = []"), `3 plugins[0].allow_tool: is not a known key did you mean "allow_tools"?`},
		"an unknown key of a directory":                     {conf("fs = [{ path = '/x', access = 'r', acces = 'r' }]"), `3 plugins[0].fs[0].acces: is not a known key did you mean "access"?`},
		"an unknown limit":                                  {"[defaults.limits]\nmem = '1MiB'", "2 defaults.limits.mem: is not a known key"},
		"an unknown default":                                {"[defaults]\nread_only = true", "2 defaults.read_only: is not a known key"},
		"a server without name":                             {"[server]", "1 server.name: is missing"},
		"a title and a bound, without name":                 {"[server]\ntitle = 'X'\nmemory = '64MiB'", "1 server.name: is missing"},
		"a title without name":                              {"[server]\ntitle = 'X'", "1 server.name: is missing"},
		"an invisible title":                                {"[server]\nname = 'x'\ntitle = \"X\\u200b\"", "3 server.title: is longer than 200 bytes, or contains invisible characters"},
		"a long title":                                      {"[server]\nname = 'x'\ntitle = '" + strings.Repeat("x", 201) + "'", "3 server.title: is longer than 200 bytes"},
		"a drain without unit":                              {"[server]\ndrain = '5'", `2 server.drain: "5" is not a duration write a number and ms, s, m or h: "30s"`},
		"a drain that is too long":                          {"[server]\ndrain = '25h'", "2 server.drain: is 25h0m0s, which is out of range write a duration from 1ms to 24h0m0s"},
		"a plugin without path":                             {"[[plugins]]", "1 plugins[0].path: is missing"},
		"an http that is no array":                          {conf("http = 'https://h'"), "3 plugins[0].http: is a string, not an array of strings and tables"},
		"a duplicate plugin":                                {"[[plugins]]\npath='a'\n[[plugins]]\npath='./a/'", "4 plugins[1].path: "},
		"an invalid pattern":                                {conf("deny_tools = ['a', '[']"), `3 plugins[0].deny_tools[1]: "[" is not a pattern`},
		"a duplicate pattern":                               {conf("deny_tools = ['a', 'a']"), "3 plugins[0].deny_tools[1]: is a duplicate"},
		"an invalid digest":                                 {conf("sha256 = 'x'"), "3 plugins[0].sha256: is not a SHA-256 in hex"},
		"an invalid isolation":                              {conf("isolation = 'full'"), `3 plugins[0].isolation: is "full", which is not a valid value write "pristine" or "reused"`},
		"an unknown key of an origin":                       {conf("http = [{ origin = 'https://h', privat = true }]"), `3 plugins[0].http[0].privat: is not a known key did you mean "private"?`},
		"an origin with a path":                             {conf("http = [\n'https://h/x']"), `4 plugins[0].http[0]: contains more than an origin`},
		"any origin":                                        {conf("http = ['*']"), "3 plugins[0].http[0]: is not the URL"},
		"the public web as an origin":                       {conf("http = [\n{ origin = 'public-web', private = true }]"), "4 plugins[0].http[0]: is not an origin, so it has neither private nor a credential"},
		"the public web twice":                              {conf("http = ['public-web', 'public-web']"), "3 plugins[0].http[1]: public-web is a duplicate"},
		"an empty origin":                                   {conf("http = ['']"), "3 plugins[0].http[0]: is not the URL"},
		"an origin of another type":                         {conf("http = [1]"), "3 plugins[0].http[0]: is an integer: write a quoted string or a table"},
		"an origin without origin":                          {conf("http = [{ private = true }]"), "3 plugins[0].http[0].origin: is missing"},
		"an origin with a password":                         {conf("http = ['https://u:hush@h']"), "3 plugins[0].http[0]: has a user name"},
		"a duplicate origin":                                {conf("http = ['https://h', { origin = 'https://H:443' }]"), "3 plugins[0].http[1]: https://h is a duplicate"},
		"an unknown credential":                             {conf("http = [{ origin = 'https://h', credential = 'x' }]"), "3 plugins[0].http[0].credential: there is no [credentials.x]"},
		"an empty credential":                               {conf("http = [{ origin = 'https://h', credential = '' }]"), "3 plugins[0].http[0].credential: there is no [credentials.\"\"]"},
		"a credential over plain http":                      {conf("http = [{ origin = 'http://h', credential = 'x' }]\n[credentials.x]\nenv='X'"), "3 plugins[0].http[0]: would send a credential over plain http"},
		"a credential without source":                       {"[credentials.x]", "1 credentials.x.env: is missing"},
		"a credential with two sources":                     {"[credentials.x]\nenv = 'X'\nfile = '/x'", "3 credentials.x.file: conflicts with env"},
		"a credential in plain text":                        {"[credentials.x]\nvalue = 'hush'", "2 credentials.x.value: is not a known key"},
		"a secret for its name":                             {"[credentials.x]\nenv = 'sk-hush'", `2 credentials.x.env: is not a variable name`},
		"a relative credential":                             {"[credentials.x]\nfile = 'hush'", `2 credentials.x.file: is not absolute`},
		"a credential's variable path":                      {"[credentials.x]\nfile = '${home}/x'", `2 credentials.x.file: is not absolute`},
		"an empty credential file":                          {"[credentials.x]\nfile = ''", `2 credentials.x.file: is empty`},
		"a credential's odd name":                           {"[credentials.'a b']\nenv = 'X'", "1 credentials.\"a b\": is not a credential name"},
		"an invalid header":                                 {"[credentials.x]\nenv = 'X'\nheader = 'a b'", `3 credentials.x.header: "a b" is not a header name`},
		"an empty header":                                   {"[credentials.x]\nenv = 'X'\nheader = ''", `3 credentials.x.header: "" is not a header name`},
		"a header of the connection":                        {"[credentials.x]\nenv = 'X'\nheader = 'transfer-encoding'", `3 credentials.x.header: "transfer-encoding" is a header of the connection`},
		"a header of a proxy":                               {"[credentials.x]\nenv = 'X'\nheader = 'PROXY-Authorization'", `3 credentials.x.header: "PROXY-Authorization" is a header of the connection`},
		"a prefix with a line break":                        {"[credentials.x]\nenv = 'X'\nprefix = \"a\\r\\nb\"", "3 credentials.x.prefix: is not at most 128"},
		"any repository":                                    {conf("git = [{ repo = '*', access = 'r' }]"), `3 plugins[0].git[0].repo: "*" is not absolute`},
		"a repository without access":                       {conf("git = [{ repo = '/x' }]"), "3 plugins[0].git[0].access: is missing"},
		"a remote over http":                                {conf("git = [{ repo = '/x', access = 'r', remotes = ['http://u:hush@h/x'] }]"), "3 plugins[0].git[0].remotes[0]: is not an https URL"},
		"a remote with a password":                          {conf("git = [{ repo = '/x', access = 'r', remotes = ['https://u:hush@h/x'] }]"), "3 plugins[0].git[0].remotes[0]: has a user name"},
		"an audit without file":                             {"[audit]", "1 audit.file: is missing"},
		"a relative audit file":                             {"[audit]\nfile = 'x'", `2 audit.file: is not absolute`},
		"an audit file too small":                           {"[audit]\nfile = '/x'\nmax_size = '63KiB'", "3 audit.max_size: is 63KiB, which is out of range write a size from 64KiB"},
		"an audit that keeps none":                          {"[audit]\nfile = '/x'\nkeep = 0", "3 audit.keep: is 0, which is out of range write a number from 1 to 1000"},
		"an audit of other arguments":                       {"[audit]\nfile = '/x'\narguments = 'some'", `3 audit.arguments: is "some", which is not a valid value write "hash" or "full" or "none"`},
		"an unknown on_failure":                             {"[audit]\nfile = '/x'\non_failure = 'x'", `3 audit.on_failure: is "x", which is not a valid value write "open" or "closed"`},
		"an unknown copy of the audit":                      {"[audit]\nfile = '/x'\nalso = ['file']", `3 audit.also[0]: file is not supported here use one of these: journald, syslog, stdout`},
		"a copy of the audit twice":                         {"[audit]\nfile = '/x'\nalso = ['stdout', 'stdout']", "3 audit.also[1]: is a duplicate"},
		"an invalid prefix":                                 {conf("prefix = 'a b'"), `3 plugins[0].prefix: "a b" is not a valid prefix for tool names`},
		"an empty pattern":                                  {conf("allow_tools = ['']"), `3 plugins[0].allow_tools[0]: "" is not a pattern`},
		"an invalid prompt pattern":                         {conf("allow_prompts = ['[']"), `3 plugins[0].allow_prompts[0]: "[" is not a pattern`},
		"a duplicate resource pattern":                      {conf("deny_resources = ['a', 'a']"), "3 plugins[0].deny_resources[1]: is a duplicate"},
		"a deny from the root":                              {conf("deny = ['/.env']"), `3 plugins[0].deny[0]: "/.env" begins with a slash`},
		"an invalid deny":                                   {conf("deny = ['{a']"), `3 plugins[0].deny[0]: "{a" is not a valid file pattern`},
		"an empty deny":                                     {"[defaults]\ndeny = ['']", `2 defaults.deny[0]: "" is not a valid file pattern`},
		"a duplicate deny":                                  {"[defaults]\ndeny = ['a', 'a']", "2 defaults.deny[1]: is a duplicate"},
		"a deny with a trailing slash":                      {conf("deny = ['**/secret/']"), `3 plugins[0].deny[0]: "**/secret/" has an empty path element`},
		"a deny with ..":                                    {conf("deny = ['../x']"), `3 plugins[0].deny[0]: "../x" has the path element ".."`},
		"a deny with a glued **":                            {conf("deny = ['**.env']"), `3 plugins[0].deny[0]: "**.env" has ** beside other characters`},
		"a deny with a slash in braces":                     {conf("deny = ['{a/b,c}']"), `3 plugins[0].deny[0]: "{a/b,c}" has a slash between braces`},
		"a deny of many alternatives":                       {conf("deny = ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}']"), `expands to more than 64 patterns`},
		"a plugin's path with a variable":                   {"[[plugins]]\npath = '${home}/x'", `2 plugins[0].path: "${home}/x" has a variable other than`},
		"a reference that is not closed":                    {conf("env = { A = '${env:hush' }"), "3 plugins[0].env.A: has a ${ that is not part of ${env:NAME}"},
		"a reference to no name":                            {conf("env = { A = '${env:}' }"), "3 plugins[0].env.A: has a ${ that is not part of ${env:NAME}"},
		"a reference to no name in a path":                  {conf("fs = [{ path = '/${env:}', access = 'r' }]"), `3 plugins[0].fs[0].path: "/${env:}" has a ${env:`},
		"a reference to no variable in a path":              {conf("fs = [{ path = '/${env:a b}', access = 'r' }]"), `3 plugins[0].fs[0].path: "/${env:a b}" has a ${env:`},
		"a reference to no variable":                        {conf("env = { A = '${env:a b}' }"), "3 plugins[0].env.A: has a ${ that is not part of ${env:NAME}"},
		"a reference that is not closed in a plugin's path": {"[[plugins]]\npath = '${env:A'", `2 plugins[0].path: "${env:A" has a ${env:`},
		"a NUL byte in a plugin's path":                     {"[[plugins]]\npath = \"a\\u0000\"", `2 plugins[0].path: "a\x00" contains a NUL byte`},
		"a deny with a NUL byte":                            {conf(`deny = ["a\u0000"]`), `3 plugins[0].deny[0]: "a\x00" is not a valid file pattern`},
		"a deny with .":                                     {conf("deny = ['./x']"), `3 plugins[0].deny[0]: "./x" has the path element "."`},
		"a deny with the project":                           {conf("deny = ['${project}/conf/**']"), `3 plugins[0].deny[0]: "${project}/conf/**" has a variable, which patterns have not, and is relative to each granted directory`},
		"a deny with a home":                                {conf("deny = ['**/x', '~/.ssh']"), `3 plugins[0].deny[1]: "~/.ssh" begins with a tilde, but is relative to each granted directory`},
		"a deny of all defaults with the home":              {"[defaults]\ndeny = ['${home}/.ssh']", `2 defaults.deny[0]: "${home}/.ssh" has a variable`},
		"a deny with ***":                                   {conf("deny = ['a/***']"), `3 plugins[0].deny[0]: "a/***" has ** beside other characters`},
		"a deny of braces in braces":                        {conf("deny = ['{a,{b,c},{d/e,f}}']"), `has a slash between braces`},
		"a deny of many alternatives at once":               {conf("deny = ['{a,b}{c" + strings.Repeat(",c", 32) + "}']"), `expands to more than 64 patterns`},
		"an audit file with a bad reference":                {"[audit]\nfile = '/${env:a b}'", "2 audit.file: has a ${env:"},
		"a variable without env":                            {conf("env = { A = '${HOME}' }"), "3 plugins[0].env.A: has a ${ that is not part of ${env:NAME}"},
		"an unclosed reference in a path":                   {conf("fs = [{ path = '${env:A', access = 'r' }]"), `3 plugins[0].fs[0].path: "${env:A" has a ${env:`},
		"an escape in a path":                               {conf("fs = [{ path = '/$${env:A}', access = 'r' }]"), `3 plugins[0].fs[0].path: "/$${env:A}" has $${`},
		"an unclosed reference in audit.file":               {"[audit]\nfile = '${env:A/x'", `2 audit.file: has a ${env:`},
		"a relative directory":                              {conf("fs = [{ path = 'x', access = 'r' }]"), `3 plugins[0].fs[0].path: "x" is not absolute`},
		"a directory without access":                        {conf("fs = [{ path = '/x' }]"), "3 plugins[0].fs[0].access: is missing"},
		"a variable of the host":                            {conf("env = { PWD = '/' }"), "3 plugins[0].env.PWD: is set by the host"},
		"a variable that is not a string":                   {conf("env = { A = 1 }"), "3 plugins[0].env.A: is an integer, not a string"},
		"a variable with a NUL byte":                        {conf(`env = { A = "\u0000hush" }`), "3 plugins[0].env.A: contains a NUL byte"},
		"read_only and allow_write":                         {conf("read_only = true\nallow_write = true"), "4 plugins[0].allow_write: conflicts with read_only"},
		"plugins that are no array":                         {"[plugins]", "1 plugins: is a table, not an array of tables"},
		"not TOML":                                          {"[", "1 is not TOML"},
		"limits as an array":                                {conf("limits = []"), "3 plugins[0].limits: is an array, not a table"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := config.Parse("/etc/bulkhead.toml", []byte(c.text))
			for _, p := range ps.Errors() {
				if got := fmt.Sprintf("%d %s%s %s", p.Line, strings.TrimPrefix(p.Key+": ", ": "), p.What, p.Remedy); strings.Contains(got, c.want) {
					if strings.Contains(p.String(), "hush") {
						t.Errorf("a problem contains a secret: %s", p)
					}
					return
				}
			}
			t.Errorf("want %s\ngot  %v", c.want, ps)
		})
	}
}

func TestPathsAreRelativeToConfig(t *testing.T) {
	dir := t.TempDir()
	c, ps := config.Parse(filepath.Join(dir, config.FileName), []byte("[[plugins]]\npath = 'p'\n"))
	if len(ps) > 0 || len(c.Plugins) != 1 || c.Plugins[0].Path != filepath.Join(dir, "p") {
		t.Errorf("got %+v, %v", c, ps)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(onHost(full)))
	f.Add([]byte(conf("fs = [{path='/'}]\nenv = { 'a b' = '' }")))
	f.Add([]byte(conf("prefix='x_'\nhttp=['https://a', {origin='https://b', credential='c'}]\ngit=[{repo='${project}',access='rw',remotes=['https://h/r']}]\ndeny=['**/.{a,b}']\nisolation='reused'\n[credentials.c]\nenv='C'\n[audit]\nfile='/${env:A}'")))
	f.Add([]byte(conf("http = ['public-web', 'https://a']")))
	f.Add([]byte("plugins = [{ path = 'a' }, { path = 'a' }, 1]"))
	m := &manifest.Manifest{Name: "notes", Capabilities: manifest.Capabilities{Env: []string{"*"}, HTTP: []string{"https://a", "https://b"},
		Git: []manifest.Git{{Repo: "${project}", Access: "rw", Remotes: []string{"*"}}},
		FS:  []manifest.FS{{Path: "${project}", Access: "rw"}}}, Tools: []manifest.Tool{{Name: "a", Write: true}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, ps := config.Parse("/etc/bulkhead.toml", data)
		if c == nil && ps.Err() == nil {
			t.Fatal("Parse returned neither a config nor a problem")
		}
		if ps.Err() != nil {
			return
		}
		for _, p := range c.Plugins {
			if !filepath.IsAbs(p.Path) && len(p.References) == 0 || p.Isolation == "" || p.Line == 0 {
				t.Errorf("incomplete: %+v", p)
			}
			m.Digest = p.SHA256
			g, decided := config.Decide(m, p, c.Defaults, places, config.Flags{})
			if len(p.References) > 0 && decided.Err() == nil {
				t.Error("Decide granted a table with unexpanded references")
			}
			for _, h := range g.HTTP {
				if o := h.String(); o != "https://a" && o != "https://b" {
					t.Errorf("granted origin %s is not in the config", o)
				}
			}
			for _, r := range g.Git {
				if !contain.Within(places.Project, r.Repo) || p.ReadOnly && r.Access != manifest.Read {
					t.Errorf("granted repository %+v is not absolute", r)
				}
			}
			for _, mount := range g.FS {
				if !filepath.IsAbs(mount.Path) || filepath.Clean(mount.Path) != mount.Path {
					t.Errorf("granted mount %q is not absolute", mount.Path)
				}
				if p.ReadOnly && mount.Access != manifest.Read && !mount.State {
					t.Errorf("a mount is writable although read_only is set: %q", mount.Path)
				}
			}
			if p.ReadOnly && len(g.Tools) > 0 {
				t.Error("a write tool is offered although read_only is set")
			}
		}
	})
}

func TestParseAcceptsDenyPatterns(t *testing.T) {
	for _, pattern := range []string{"**", "a/**/b", "a,b/c", "{a,b}/{c,d}", `\{a/b\}`, `\{a,b/c`, "*", "[a-c]?"} {
		if _, ps := config.Parse("/etc/bulkhead.toml", []byte(conf("deny = ['"+pattern+"']"))); ps.Err() != nil {
			t.Errorf("%s: %v", pattern, ps)
		}
	}
}

// A plugin's table without a path is reported once: for the path.
func TestPluginsWithoutPathAreNoDuplicates(t *testing.T) {
	_, ps := config.Parse("/etc/bulkhead.toml", []byte("[[plugins]]\n[[plugins]]\n"))
	if len(ps) != 2 || strings.Contains(ps.Error(), "is also") {
		t.Errorf("got %v", ps)
	}
	if _, ps := config.Parse("/etc/bulkhead.toml", []byte("[[plugins]]\nname = 'a'\n[[plugins]]\npath = 'a'\n")); ps.Err() != nil {
		t.Errorf("a name and a path that are equal: %v", ps)
	}
	if _, ps := config.Parse("/etc/bulkhead.toml", []byte("[[plugins]]\npath = '${env:A}'\n[[plugins]]\npath = '${env:A}'\n")); ps.Err() != nil {
		t.Errorf("references that are not expanded: %v", ps)
	}
}

func TestBoundOfVariables(t *testing.T) {
	for count, want := range map[int]bool{1000: true, 1001: false} {
		var env strings.Builder
		for i := range count {
			fmt.Fprintf(&env, "V%d = ''\n", i)
		}
		if _, ps := config.Parse("/etc/bulkhead.toml", []byte(conf("[plugins.env]\n"+env.String()))); (ps.Err() == nil) != want || len(ps) > 1 {
			t.Errorf("%d variables: %.200v", count, ps)
		}
	}
}
