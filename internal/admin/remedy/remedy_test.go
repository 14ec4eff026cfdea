//go:build unix

package remedy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// installation returns an installation with the plugins first and second, and a Finder of its config.
func installation(t *testing.T, config string) (*admintest.Workspace, *Finder) {
	t.Helper()
	w := admintest.New(t)
	w.Plugin(t, "first", `[capabilities]
fs = [{ path = "${project}", access = "rw", why = "x" }]
git = [{ repo = "${project}", access = "rw" }]
http = ["https://a.example", "http://127.0.0.1:8080", "*"]
ask = ["elicitation"]
[limits]
log = "1KiB"
[offers]
prompts = ["p"]
resources = ["n://"]
`)
	w.Plugin(t, "second", "[capabilities]\nfs = [{ path = \"${project}\", access = \"r\", why = 'x' }]\nhttp = ['https://a.example']\n")
	optIn := strings.Replace(w.Read(t, "plugins/second/plugin.toml"), "[module]", "write = \"opt-in\"\n[module]", 1)
	w.Write(t, "plugins/second/plugin.toml", optIn)
	w.Write(t, "work/.git/config", "")
	admintest.Symlink(t, w, "work", "outer")
	w.Config(t, config)
	return w, finderOf(t, w)
}

// finderOf returns a Finder of the config as it is now.
func finderOf(t *testing.T, w *admintest.Workspace) *Finder {
	t.Helper()
	view, err := catalog.Look(w.Options())
	if view == nil {
		t.Fatal(err)
	}
	return New(w.Options(), view)
}

// newToken makes a named token and returns its principal.
func newToken(t *testing.T, w *admintest.Workspace, name string) string {
	t.Helper()
	file, err := discovery.NamedTokens(w.Options().System)
	if err != nil {
		t.Fatal(err)
	}
	_, named, err := file.New(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return named.PrincipalID()
}

func (r Remedy) firstLine() string {
	if len(r.At) == 0 {
		return ""
	}
	return r.At[0].String()
}

const firstTable = "[[plugins]]\npath = \"../plugins/first\"\n"

// refusals are refusals with what decides about them. $W is the directory of the installation, and $TOKEN the principal of the token ci-build.
var refusals = map[string]struct {
	table          string // keys of the table of first, from line 3 of the config
	more           string // further tables
	ceiling        string
	refused        Refusal
	at, key, allow string
	why            string // a part of it
	silent         bool   // whether there is no command
}{
	// requests for tools, prompts and resources
	"a tool that is not in allow_tools": {"deny_tools = ['first_write']\nallow_tools = ['first_write']\n", "", "", tool("first_read", "not_granted"), "work/bulkhead.toml:4", "allow_tools", "", "not in allow_tools", false},
	"a tool that is in deny_tools":      {"deny_tools = ['first_write']\nallow_tools = ['first_write']\n", "", "", tool("first_write", "not_granted"), "work/bulkhead.toml:3", "deny_tools", "", "denied by", false},
	"a tool that writes":                {"allow_tools = ['*']\nread_only = true\n", "", "", tool("first_write", "not_granted"), "work/bulkhead.toml:4", "read_only", "", "read_only", false},
	"an opt-in to write": {"", "[[plugins]]\npath = '../plugins/second'\nallow_tools = ['*']\n", "", Refusal{Method: "tools/call", Plugin: "second", Tool: "second_write", Code: "not_granted"},
		"work/bulkhead.toml:3", "allow_write", "", "allow_write = true", false},
	"a tool that the ceiling denies":               {"", "", "[ceiling]\ndeny_tools = ['first_read']\n", tool("first_read", "not_granted"), "etc/bulkhead.toml:2", "deny_tools", "", "ceiling.deny_tools", false},
	"a tool that is granted now":                   {"", "", "", tool("first_read", "not_granted"), "", "", "", "granted now: ", false},
	"a tool of no plugin":                          {"", "", "", Refusal{Method: "tools/call", Tool: "made_up", Code: "unknown"}, "", "", "", "no plugin has it", true},
	"a hostile name of a tool":                     {"", "", "", Refusal{Method: "tools/call", Tool: "$(reboot)'\u202e", Code: "unknown"}, "", "", "", "no plugin has it", true},
	"a tool that a plugin has now":                 {"", "", "", Refusal{Method: "tools/call", Tool: "first_read", Code: "unknown"}, "", "", "", "granted now: ", false},
	"a tool of a plugin that was removed":          {"", "", "", Refusal{Method: "tools/call", Plugin: "gone", Tool: "gone_read", Code: "not_granted"}, "", "", "", "no such plugin", true},
	"a tool that was renamed":                      {"", "", "", tool("first_old", "not_granted"), "", "", "", "no such tool", false},
	"a tool of a plugin that is left out":          {"env = { A = 'b' }\n", "", "", tool("first_read", "left_out"), "", "", "", "left out", false},
	"a tool that writes, by read_tool":             {"", "", "", tool("first_write", "writes"), "", "", "", "only tools that read", true},
	"a tool that reads, by write_tool":             {"", "", "", tool("first_read", "reads"), "", "", "", "only tools that write", true},
	"a tool for clients only":                      {"", "", "", tool("first_read", "indirect"), "", "", "", "only clients do", true},
	"a result that has expired":                    {"", "", "", Refusal{Method: "tools/call", Tool: "read_result", Code: "unknown"}, "", "", "", "", true},
	"a prompt that is denied":                      {"deny_prompts = ['p']\n", "", "", Refusal{Method: "prompts/get", Plugin: "first", Tool: "p", Code: "not_granted"}, "work/bulkhead.toml:3", "deny_prompts", "", "denied by deny_prompts", false},
	"a prompt that a plugin has now":               {"", "", "", Refusal{Method: "prompts/get", Tool: "p", Code: "unknown"}, "", "", "", "granted now: ", false},
	"a plugin that is left out in another project": {"", "", "", Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "left_out", Elsewhere: "another project"}, "", "", "", "another project", true},
	"a prompt of no plugin":                        {"", "", "", Refusal{Method: "prompts/get", Tool: "q", Code: "unknown"}, "", "", "", "no plugin has it", true},
	"a resource that is not allowed":               {"allow_resources = ['n://a']\n", "", "", Refusal{Method: "resources/read", Plugin: "first", Tool: "n://b", Code: "not_granted"}, "work/bulkhead.toml:3", "allow_resources", "", "not in allow_resources", false},
	"a resource that is granted now":               {"allow_resources = ['n://*']\n", "", "", Refusal{Method: "resources/read", Plugin: "first", Tool: "n://b", Code: "not_granted"}, "", "", "", "granted now: ", false},
	"a task of another client":                     {"", "", "", Refusal{Method: "tasks/get", Tool: "1", Code: "unknown"}, "", "", "", "", true},
	"a name that is cut":                           {"", "", "", tool("first_re…", "not_granted"), "", "", "", "", true},

	// files
	"a file outside":                 {"", "", "", file("file/stat", "$W/other/f"), "work/bulkhead.toml:1", "fs", `[{ path = "${project}", access = "rw" }, { path = "$W/other", access = "r" }]`, "not in any directory", false},
	"a file outside of a list":       {"fs = []\n", "", "", file("file/stat", "$W/other/f"), "work/bulkhead.toml:3", "fs", `{ path = "$W/other", access = "r" }`, `: access = "r" would be for all of $W/other`, false},
	"a file of a tool that writes":   {"fs = []\n", "", "", Refusal{Method: "tools/call", Plugin: "first", Tool: "first_write", Code: "denied", Op: "file/lstat", Target: "$W/other/f"}, "work/bulkhead.toml:3", "fs", `{ path = "$W/other", access = "rw" }`, `access = "rw" would be for all of $W/other, and "r" suffices if`, false},
	"a change outside":               {"fs = []\n", "", "", file("file/unlink", "$W/other/f"), "work/bulkhead.toml:3", "fs", `{ path = "$W/other", access = "rw" }`, "not in any directory", false},
	"a directory outside":            {"fs = []\n", "", "", file("file/scan", "$W/other/d"), "work/bulkhead.toml:3", "fs", `{ path = "$W/other/d", access = "r" }`, "not in any directory", false},
	"a read-only directory":          {"fs = [{ path = '${project}', access = 'r' }]\n", "", "", file("file/open", "$W/work/x"), "work/bulkhead.toml:3", "fs", `{ path = "${project}", access = "rw" }`, `access = "rw" would be for all of $W/work`, false},
	"a directory in a read-only one": {"fs = [{ path = '${project}', access = 'r' }]\n", "", "", file("file/unlink", "$W/work/build/out.o"), "work/bulkhead.toml:3", "fs", `{ path = "$W/work/build", access = "rw" }`, "read-only", false},
	"a lock in a read-only one":      {"fs = [{ path = '${project}', access = 'r' }]\n", "", "", file("lock", "$W/work/build"), "work/bulkhead.toml:3", "fs", `{ path = "$W/work/build", access = "rw" }`, "read-only", false},
	"a directory with hidden files":  {"fs = [{ path = '${project}', access = 'r' }]\ndeny = ['build/key']\n", "", "", file("file/unlink", "$W/work/build/out.o"), "work/bulkhead.toml:3", "fs", `{ path = "${project}", access = "rw" }`, "read-only", false},
	"a file that can be read now":    {"fs = [{ path = '${project}', access = 'r' }]\n", "", "", file("file/stat", "$W/work/x"), "", "", "", "granted now: ", false},
	"a change of a read-only plugin": {"read_only = true\n", "", "", file("file/mkdir", "$W/work/x"), "work/bulkhead.toml:3", "read_only", "", "read_only", false},
	"a hidden file":                  {"deny = ['**/*.key']\n", "", "", file("file/open", "$W/work/a.key"), "work/bulkhead.toml:3", "", "", "hidden by", false},
	"a file that is hidden for all":  {"", "[defaults]\ndeny = ['**/.env']\n", "", file("file/open", "$W/work/.env"), "", "", "", "defaults.deny", false},
	"a file that would stay hidden":  {"", "[defaults]\ndeny = ['**/.env']\n", "", file("file/open", "$W/other/.env"), "", "", "", "not in any directory", false},
	"a file of git":                  {"", "", "", file("file/open", "$W/work/.git/config"), "", "", "", "files in a .git", false},
	"a file of the host":             {"", "", "", file("file/open", "$W/work/bulkhead.toml"), "", "", "", "belongs to the host", false},
	"a file in the host's state":     {"", "", "", file("file/open", "$W/state/bulkhead/tokens.json"), "", "", "", "not in any directory", false},
	"a file beside the home":         {"", "", "", file("file/open", "$W/f"), "", "", "", "not in any directory", false},
	"a file outside of the ceiling":  {"", "", "[ceiling]\nfs = [{ path = '${project}', access = 'rw' }]\n", file("file/open", "$W/other/f"), "", "", "", "not in any directory", false},
	"a change that no manifest asks for": {"", "[[plugins]]\npath = '../plugins/second'\nfs = []\n", "", Refusal{Plugin: "second", Op: "file/mkdir", Target: "$W/other/d", Code: "denied"},
		"", "", "", "not in any directory", false},
	"a link outside to a granted file": {"", "", "", file("file/stat", "$W/outer/f"), "work/bulkhead.toml:1", "fs", `[{ path = "${project}", access = "rw" }, { path = "$W/outer", access = "r" }]`, "not in any directory granted to first", false},
	"a file that is granted now":       {"", "", "", file("file/open", "$W/work/x"), "", "", "", "granted now: ", false},
	"an operation of two paths":        {"", "", "", file("file/rename", "$W/work/x"), "", "", "", "the other path", false},
	"a file of another machine":        {"", "", "", file("file/open", "//host/share/f"), "", "", "", "", true},
	"a file in another project":        {"", "", "", Refusal{Plugin: "first", Op: "file/open", Target: "$W/other/f", Code: "denied", Elsewhere: "another project"}, "", "", "", "another project", true},
	"a relative path":                  {"", "", "", file("file/open", "relative"), "", "", "", "", true},
	"a path that is cut":               {"", "", "", file("file/open", "$W/work/cut…"), "", "", "", "", true},
	"a lock of a directory":            {"fs = []\n", "", "", file("lock", "$W/other/d"), "work/bulkhead.toml:3", "fs", `{ path = "$W/other/d", access = "rw" }`, "not in any directory", false},

	// web servers, repositories and questions
	"a web server":                                   {"http = []\n", "", "", file("http/fetch", "https://a.example"), "work/bulkhead.toml:3", "http", `"https://a.example"`, "not in http", false},
	"a web server that is not named":                 {"", "", "", file("http/fetch", "https://c.example"), "work/bulkhead.toml:1", "http", `["https://a.example", "http://127.0.0.1:8080", "https://c.example"]`, "any web server", false},
	"a web server of this machine":                   {"http = ['http://127.0.0.1:8080']\n", "", "", file("http/fetch", "http://127.0.0.1:8080"), "work/bulkhead.toml:3", "http", `{ origin = "http://127.0.0.1:8080", private = true }`, "private = true", false},
	"a web server that is granted now":               {"", "", "", file("http/fetch", "https://a.example"), "", "", "", "granted now: ", false},
	"a web server beyond the ceiling":                {"http = []\n", "", "[ceiling]\nhttp = []\n", file("http/fetch", "https://a.example"), "", "", "", "not in http", false},
	"a web server that the ceiling cuts":             {"http = ['https://a.example']\n", "", "[ceiling]\nhttp = []\n", file("http/fetch", "https://a.example"), "etc/bulkhead.toml:2", "", "", "ceiling.http", false},
	"a web server that is not asked for":             {"", "[[plugins]]\npath = '../plugins/second'\n", "", Refusal{Plugin: "second", Op: "http/fetch", Target: "https://c.example", Code: "denied"}, "", "", "", "does not ask for it", false},
	"a repository":                                   {"git = []\n", "", "", file("git/current_branch", "$W/other"), "work/bulkhead.toml:3", "git", "", "in no repository granted to first", false},
	"a repository beside one that is cut":            {"git = []\n", "", "[ceiling]\ngit = []\n", file("git/current_branch", "$W/other"), "work/bulkhead.toml:3", "git", "", "", false},
	"a repository that is granted now":               {"", "", "", file("git/current_branch", "$W/work"), "", "", "", "", false},
	"a change of a repository":                       {"", "", "", file("git/commit_branch", "$W/work"), "work/bulkhead.toml:1", "git", "", `access = "r"`, false},
	"a change of a repository of a read-only plugin": {"git = [{ repo = '${project}', access = 'rw' }]\nread_only = true\n", "", "", file("git/commit_branch", "$W/work"), "work/bulkhead.toml:4", "read_only", "", "read_only", false},
	"a commit that is not asked for":                 {"", "", "", file("git/commit", "$W/work"), "", "", "", "does not ask for it", false},
	"a remote that is not asked for":                 {"", "", "", file("git/fetch", "https://a.example"), "", "", "", "does not ask for it", false},
	"a repository in another project":                {"git = []\n", "", "", Refusal{Plugin: "first", Op: "git/current_branch", Target: "$W/other", Code: "denied", Elsewhere: "another project"}, "", "", "", "another project", true},
	"a repository that is not asked for":             {"", "[[plugins]]\npath = '../plugins/second'\n", "", Refusal{Plugin: "second", Op: "git/current_branch", Target: "$W/work", Code: "denied"}, "", "", "", "does not ask for it", false},
	"a repository that the ceiling cuts":             {"", "", "[ceiling]\ngit = []\n", file("git/current_branch", "$W/work"), "etc/bulkhead.toml:2", "", "", "ceiling.git", false},
	"a question":                                     {"ask = []\n", "", "", file("ask/elicitation", ""), "work/bulkhead.toml:3", "ask", `"elicitation"`, "not in ask", false},
	"a question that is not asked for":               {"", "", "", file("ask/sampling", ""), "", "", "", "does not ask for it", false},
	"an operation that is not known":                 {"", "", "", file("new/operation", "x"), "", "", "", "", true},

	// approvals
	"an approval of the plugin's table": {"approve_tools = ['first_read']\n", "", "", tool("first_read", "approval_declined"), "work/bulkhead.toml:3", "approve_tools", "", "approve_tools", false},
	"an approval of all plugins":        {"", "[defaults]\napprove_writes = true\n", "", tool("first_write", "approval_cancelled"), "work/bulkhead.toml:4", "approve_writes", "", "defaults.approve_writes", false},
	"an approval of the ceiling":        {"", "", "[ceiling]\napprove_writes = true\n", tool("first_write", "approval_expired"), "etc/bulkhead.toml:2", "approve_writes", "", "ceiling.approve_writes", false},
	"an approval of the client's table": {"", ciTable + "approve_writes = true\n", "", asToken(tool("first_write", "approval_unable")), "work/bulkhead.toml:6", "approve_writes", "", "clients[ci].approve_writes", false},
	"an approval of a prompt":           {"approve_writes = true\n", "", "", Refusal{Method: "prompts/get", Plugin: "first", Tool: "p", Code: "approval_not_shown"}, "work/bulkhead.toml:3", "approve_writes", "", "approve_writes", false},
	"an approval that counts once":      {"approve_writes = true\n", "", "", tool("first_write", "approval_replayed"), "work/bulkhead.toml:3", "approve_writes", "", "approve_writes", false},
	"an approval of another question":   {"approve_writes = true\n", "", "", tool("first_write", "approval_outdated"), "work/bulkhead.toml:3", "approve_writes", "", "approve_writes", false},
	"no approval is required now":       {"", "", "", tool("first_write", "approval_unrecorded"), "", "", "", "granted now: ", false},

	// limits
	"the time":                            {"limits = { time = '1s' }\n", "", "", tool("first_read", "timeout"), "work/bulkhead.toml:3", "limits.time", "", "1s", false},
	"the log":                             {"", "", "", tool("first_read", "log_too_large"), "plugins/first/plugin.toml:22", "limits.log", "", "limits of plugin.toml", false},
	"the stack":                           {"", "", "", tool("first_read", "stack_overflow"), "", "", "", "no key changes", true},
	"the fuel of all":                     {"", "[defaults.limits]\nfuel = 5\n", "", tool("first_read", "fuel"), "", "limits.fuel", "", "defaults.limits", false},
	"the memory":                          {"", "", "", tool("first_read", "memory"), "", "limits.memory", "", "the default", false},
	"the queue":                           {"", "", "", tool("first_read", "busy"), "", "limits.concurrency", "", "", false},
	"the size of requests":                {"", "", "", tool("first_read", "input_too_large"), "", "limits.input", "", "", false},
	"the size of results of the ceiling":  {"", "", "[ceiling]\nlimits = { output = '1KiB' }\n", tool("first_read", "output_too_large"), "etc/bulkhead.toml:2", "limits.output", "", "ceiling.limits", false},
	"the operations of a client's table":  {"limits = { operations = 9 }\n", ciTable + "limits = { operations = 2 }\n", "", asToken(tool("first_read", "too_many_operations")), "work/bulkhead.toml:7", "limits.operations", "", "clients[ci].limits", false},
	"a limit below that of the ceiling":   {"", ciTable + "limits = { time = '1s' }\n", "[ceiling]\nlimits = { time = '2s' }\n", asToken(tool("first_read", "timeout")), "work/bulkhead.toml:6", "limits.time", "", "limit of 1s is clients[ci].limits", false},
	"a limit of a plugin that is removed": {"", "", "", Refusal{Method: "tools/call", Plugin: "gone", Tool: "gone_read", Code: "timeout"}, "", "", "", "no such plugin", true},

	// clients over HTTP
	"a client at a loopback address": {"", "[[clients]]\nname = 'none'\nmatch = { auth = 'none' }\ndeny_tools = ['first_read']\n", "", Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "not_granted", Principal: "local", Transport: "http"},
		"work/bulkhead.toml:6", "deny_tools", "", "clients[none].deny_tools", false},
	"a tool of a plugin that is not the client's": {"", ciTable + "plugins = []\n", "", asToken(tool("first_read", "not_granted")), "work/bulkhead.toml:6", "plugins", "", "clients[ci].plugins", false},
	"a tool that the client's table denies":       {"", ciTable + "deny_tools = ['first_read']\n", "", asToken(tool("first_read", "not_granted")), "work/bulkhead.toml:6", "deny_tools", "", "clients[ci].deny_tools", false},
	"a prompt that the client's table denies":     {"", ciTable + "deny_prompts = ['p']\n", "", asToken(Refusal{Method: "prompts/get", Plugin: "first", Tool: "p", Code: "not_granted"}), "work/bulkhead.toml:6", "deny_prompts", "", "deny_prompts", false},
	"a file beyond the client's table":            {"fs = []\n", ciTable + "fs = []\n", "", asToken(file("file/open", "$W/other/f")), "", "", "", "not in any directory", false},
	"a client of no table":                        {"", anyTable, "", Refusal{Code: "http_client", Principal: "$TOKEN"}, "", "other_clients", "", "no table", false},
	"a client of no table, by other_clients":      {"", anyTable + "[http]\nother_clients = 'none'\n", "", Refusal{Code: "http_client", Principal: "$TOKEN"}, "work/bulkhead.toml:7", "other_clients", "", "no table", false},
	"a client of no project":                      {"", ciTable + "projects = ['docs']\n", "", Refusal{Code: "http_client", Principal: "$TOKEN"}, "work/bulkhead.toml:6", "projects", "", "projects", false},
	"a client that is admitted now":               {"", ciTable, "", Refusal{Code: "http_client", Principal: "$TOKEN"}, "", "", "", "granted now: ", false},
	"a quota":                                     {"", ciTable + "[clients.quota]\nconcurrent = 1\n", "", Refusal{Code: "http_quota", Principal: "$TOKEN"}, "work/bulkhead.toml:6", "quota", "", "clients[ci]", false},
	"the metrics":                                 {"", ciTable, "", Refusal{Code: "http_metrics", Principal: "$TOKEN"}, "work/bulkhead.toml:3", "metrics", "true", "clients[ci]", false},
	"the metrics without a table":                 {"", "", "", Refusal{Code: "http_metrics", Principal: "$TOKEN"}, "", "", "", "only a table of [[clients]]", true},
	"a host":                                      {"", ciTable, "", Refusal{Code: "http_host"}, "", "", "", "", true},
	"an origin":                                   {"", ciTable, "", Refusal{Code: "http_origin"}, "", "", "", "", true},
	"a token":                                     {"", ciTable, "", Refusal{Code: "http_token"}, "", "", "", "", true},
	"a scope":                                     {"", ciTable, "", Refusal{Code: "http_scope"}, "", "", "", "", true},
	"a project":                                   {"", ciTable, "", Refusal{Code: "http_project"}, "", "", "", "", true},
	"a session":                                   {"", ciTable, "", Refusal{Code: "http_session"}, "", "", "", "", true},
}

// The tables of [[clients]] begin at line 3 if the table of first has no keys.
const (
	ciTable  = "[[clients]]\nname = 'ci'\nmatch = { tokens = ['ci-*'] }\n"
	anyTable = "[[clients]]\nname = 'other'\nmatch = { tokens = ['other'] }\n"
)

func tool(name, code string) Refusal {
	return Refusal{Method: "tools/call", Plugin: "first", Tool: name, Code: code}
}

// file returns the refusal of an operation of a call.
func file(op, target string) Refusal {
	r := tool("first_read", "denied")
	r.Op, r.Target = op, target
	return r
}

func asToken(r Refusal) Refusal {
	r.Principal = "$TOKEN"
	return r
}

func TestRefusalsHaveWhatDecides(t *testing.T) {
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			w, _ := installation(t, firstTable+c.table+c.more)
			if c.ceiling != "" {
				w.Write(t, "etc/bulkhead.toml", c.ceiling)
			}
			in := strings.NewReplacer("$W", w.Dir, "$TOKEN", newToken(t, w, "ci-build"))
			c.refused.Target, c.refused.Principal = in.Replace(c.refused.Target), in.Replace(c.refused.Principal)
			r := finderOf(t, w).Find(c.refused)
			at := ""
			if len(r.At) > 0 {
				at = fmt.Sprintf("%s:%d", strings.TrimPrefix(r.At[0].File, w.Dir+"/"), r.At[0].Line)
			}
			if at != c.at || r.Key != c.key || r.Allow != in.Replace(c.allow) || !strings.Contains(r.Why, in.Replace(c.why)) || (r.Command == "") != c.silent {
				t.Errorf("got %q, the line %s, the key %q, which needs %q, and the command %q", r.Why, at, r.Key, r.Allow, r.Command)
			}
			if strings.ContainsAny(r.Command, "\u202e") || strings.Contains(r.Command, " $(") || strings.Contains(r.Why, "reaches the file only") {
				t.Errorf("got %+v", r)
			}
			if c.key != "fs" && c.key != "http" {
				return
			}
			changed, isList := "", strings.HasPrefix(r.Allow, "[")
			if !isList {
				r.Allow = "[" + r.Allow + "]"
			}
			for line := range strings.Lines(c.table) {
				if !strings.HasPrefix(line, c.key+" = ") {
					changed += line
				}
			}
			w.Config(t, firstTable+changed+c.key+" = "+r.Allow+"\n"+c.more)
			if r := finderOf(t, w).Find(c.refused); !strings.HasPrefix(r.Why, "granted now: ") {
				t.Errorf("after the change: %+v", r)
			}
		})
	}
}

// TestRefusalsOfEachCodeAreExplained has the codes of package catalog, of approvals, of operations, of limits and of the HTTP server.
func TestRefusalsOfEachCodeAreExplained(t *testing.T) {
	for _, code := range []string{
		catalog.Unknown, catalog.NotGranted, catalog.LeftOut, catalog.Writes, catalog.Reads, catalog.Indirect,
		"approval_declined", "approval_cancelled", "approval_expired", "approval_unable", "approval_not_shown", "approval_replayed", "approval_outdated", "approval_unrecorded",
		abi.HostDenied, "timeout", "fuel", "memory", "stack_overflow", "busy", "input_too_large", "output_too_large", "too_many_operations", "log_too_large",
		httpserver.RefusedHost, httpserver.RefusedOrigin, httpserver.RefusedToken, httpserver.RefusedScope, httpserver.RefusedClient, httpserver.RefusedProject,
		httpserver.RefusedQuota, httpserver.RefusedSession, httpserver.RefusedMetrics,
	} {
		found := false
		for _, c := range refusals {
			found = found || c.refused.Code == code
		}
		if !found {
			t.Errorf("no refusal has the code %s", code)
		}
	}
}

// TestKeysOnOneLineAreToldApart has both keys, of which one decides, in a table on one line.
func TestKeysOnOneLineAreToldApart(t *testing.T) {
	_, f := installation(t, "plugins = [{ path = '../plugins/first', deny_tools = ['first_write'], allow_tools = ['first_write'] }]\n")
	for name, want := range map[string]string{"first_read": "allow_tools", "first_write": "deny_tools"} {
		if r := f.Find(tool(name, "not_granted")); r.Key != want || r.firstLine() != "bulkhead.toml:1" {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestRefusalsOfClientsHaveTheLineOfTheirTable has a token whose table of [[clients]] decides, and not the plugin's own.
func TestRefusalsOfClientsHaveTheLineOfTheirTable(t *testing.T) {
	w, f := installation(t, `[[clients]]
name = "ci"
match = { tokens = ["ci-*"] }
plugins = ["first"]
deny_tools = ["first_read"]
fs = [{ path = "${project}", access = "r" }]
[[clients]]
name = "rest"
match = { auth = "any" }
[[plugins]]
path = "../plugins/first"
fs = [{ path = "${project}", access = "rw" }]
[[plugins]]
path = "../plugins/second"
`)
	token := newToken(t, w, "ci-build")
	for _, c := range []struct {
		refused      Refusal
		at, key, why string
	}{
		{Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "not_granted"}, "bulkhead.toml:5", "deny_tools", "denied by"},
		{Refusal{Method: "tools/call", Plugin: "second", Tool: "second_read", Code: "not_granted"}, "bulkhead.toml:4", "plugins", "not in clients[ci].plugins"},
		{Refusal{Plugin: "first", Op: "file/mkdir", Target: w.Path("work/x"), Code: "denied"}, "bulkhead.toml:12", "", "reduced"},
	} {
		c.refused.Principal = token
		if r := f.Find(c.refused); !strings.HasSuffix(r.firstLine(), c.at) || r.Key != c.key || !strings.Contains(r.Why, c.why) || !strings.Contains(r.Command, " --client ci-build") {
			t.Errorf("%+v: got %+v", c.refused, r)
		}
	}
	for principal, want := range map[string][2]string{
		token: {"ci-build (" + token + ")", "ci"}, "bearer": {"agent/1 (bearer)", "rest"}, "local": {"agent/1 (local)", ""}, "token:unknown": {"token:unknown", ""},
	} {
		if who, table := f.Who(principal, "agent/1"), f.Table(principal); who != want[0] || table != want[1] {
			t.Errorf("%s is named %q, of the table %q", principal, who, table)
		}
	}
	if r := f.Find(Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "not_granted", Principal: "token:unknown"}); len(r.At) > 0 || r.Command != "" || !strings.Contains(r.Why, "not exist") {
		t.Errorf("a token that was revoked: got %+v", r)
	}
	if r := f.Find(Refusal{Method: "tools/call", Plugin: "second", Tool: "second_read", Code: "not_granted", Principal: "oauth:0123"}); len(r.At) > 0 || r.Key != "" || r.Command != "" ||
		!strings.Contains(r.Why, "claims of its token decide") || !strings.Contains(r.Why, "`bulkhead policy second --tool second_read --client CLAIMS.json") {
		t.Errorf("a client of an identity provider: got %+v", r)
	}
	if r := f.Find(Refusal{Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "not_granted", Principal: "local"}); r.Command != "" || !strings.Contains(r.Why, "not known whether") {
		t.Errorf("a user of stdio or HTTP: got %+v", r)
	}
	if r := f.Find(Refusal{Method: "tools/call", Plugin: "second", Tool: "second_read", Code: "not_granted", Principal: "local", Transport: "stdio"}); strings.Contains(r.Command, "--client") || strings.Contains(r.Why, "clients[") {
		t.Errorf("the user of a server on stdio: got %+v", r)
	}
}

// TestWhatTheConfigWithholdsFromAllNeedsNoClient has clients of which it is not known which table decides for them, tables that match some of them, and a limit,
// which a table can reduce.
func TestWhatTheConfigWithholdsFromAllNeedsNoClient(t *testing.T) {
	_, f := installation(t, "[[clients]]\nname = \"dev\"\nmatch = { tokens = [\"dev-*\"] }\n[[plugins]]\npath = \"../plugins/first\"\ndeny_tools = [\"first_write\"]\n")
	for _, principal := range []string{"local", "token:gone", "oauth:0123"} {
		if r := f.Find(Refusal{Method: "tools/call", Plugin: "first", Tool: "first_write", Code: "not_granted", Principal: principal}); r.Key != "deny_tools" || !strings.Contains(r.Why, "denied by deny_tools") || r.Command == "" {
			t.Errorf("%s: got %+v", principal, r)
		}
		for _, refused := range []Refusal{{Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "not_granted"}, {Method: "tools/call", Plugin: "first", Tool: "first_read", Code: "timeout"}} {
			if refused.Principal = principal; len(f.Find(refused).At) > 0 {
				t.Errorf("%+v: got %+v", refused, f.Find(refused))
			}
		}
	}
}

// TestCommandsChooseTheSameConfig has the flags with which `bulkhead ui` was started.
func TestCommandsChooseTheSameConfig(t *testing.T) {
	w, f := installation(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	f.options.ConfigFile, f.options.Project = "bulkhead.toml", w.Path("my project")
	want := "bulkhead policy first --config " + w.Path("work/bulkhead.toml") + " --project '" + w.Path("my project") + "'"
	if r := f.Find(Refusal{Plugin: "first", Op: "git/current_branch"}); r.Command != want {
		t.Errorf("got %s, want %s", r.Command, want)
	}
}
