package host_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// modern sends a request of protocol 2026-07-28 and returns the status and the body of its answer.
func modern(t testing.TB, url, token, method, name, params string) (status int, body string) {
	t.Helper()
	if params != "" {
		params += ","
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	headers := map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		headers["Mcp-Name"] = name
	}
	return send(t, url, token, text, headers)
}

// callTool calls a tool without arguments.
func callTool(t testing.TB, url, token, tool string) (status int, body string) {
	t.Helper()
	return modern(t, url, token, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{}`, tool))
}

// rights are what a model of the policy gives to a principal in one project.
type rights struct {
	admitted              bool
	tools, prompts, notes []string // names of tools and prompts, URIs of resources
}

// team is a server with several named clients.
type team struct {
	*hosttest.World
	host   *host.Host
	url    string
	tokens map[string]string // by name
	end    func() error
}

// everything of a server of teamWorld.
var (
	teamTools   = []string{"calm_reads", "calm_writes", "loud_reads", "loud_writes", "text_reads"}
	teamPrompts = []string{"greet", "part"}
	teamNotes   = []string{"n://all", "n://few"}
)

// teamTables are the tables of a team with principals of different rights. The user eve has no table.
const teamTables = `
[http]
tokens = true
[[clients]]
name = "root"
match = { tokens = ["root"] }
[[clients]]
name = "readers"
match = { tokens = ["ann", "amy"] }
read_only = true
projects = ["one"]
[[clients]]
name = "few"
match = { tokens = ["bob"] }
plugins = ["calm", "text"]
deny_tools = ["calm_writes"]
allow_prompts = ["part"]
deny_resources = ["n://all"]
[[clients]]
name = "shadowed"
match = { tokens = ["bob", "cyd"] }
plugins = []
[[clients]]
name = "own"
match = { tokens = ["dan", "dee"] }
plugins = ["calm"]
fs = [{ path = "${project}/${client}", access = "rw" }]
`

// model returns what teamTables give to a principal at an endpoint: it does not use the code that decides.
func model(user, endpoint string) rights {
	all := rights{true, teamTools, teamPrompts, teamNotes}
	if endpoint != "" && endpoint != "one" && endpoint != "two" {
		return rights{}
	}
	switch user {
	case "root":
		return all
	case "ann", "amy":
		all.tools = []string{"calm_reads", "loud_reads", "text_reads"}
		if endpoint == "one" {
			return all
		}
	case "bob":
		return rights{true, []string{"calm_reads", "text_reads"}, []string{"part"}, []string{"n://few"}}
	case "cyd":
		return rights{admitted: true}
	case "dan", "dee":
		return rights{true, []string{"calm_reads", "calm_writes"}, nil, nil}
	}
	return rights{}
}

func serveTeam(t *testing.T, more string, plugins []hosttest.Files, users ...string) *team {
	const fs = "[[capabilities.fs]]\npath = '${project}'\naccess = 'rw'\n"
	offers := `{"result":{"prompts":[{"name":"greet"},{"name":"part"},{"name":"no"}],"resources":[{"uri":"n://all","name":"n"},{"uri":"n://few","name":"n"},{"uri":"m://x","name":"n"}],` +
		`"resourceTemplates":[],"messages":[{"role":"user","content":{"type":"text","text":"secret"}}],"contents":[{"uri":"n://all","text":"secret"}],` +
		`"content":[{"type":"text","text":"done"}]}}`
	w := hosttest.New(t,
		hosttest.Plugin("calm", wasmtest.Answering(hosttest.Done), fs+hosttest.Reads("calm_reads")+hosttest.Writes("calm_writes")),
		hosttest.Plugin("loud", wasmtest.Answering(hosttest.Done), fs+hosttest.Reads("loud_reads")+hosttest.Writes("loud_writes")),
		hosttest.Plugin("text", wasmtest.Answering(offers), "[offers]\nprompts = ['greet', 'part']\nresources = ['n://']\n"+hosttest.Reads("text_reads")),
		hosttest.Files{"one/x": "", "two/x": ""})
	for _, p := range plugins {
		w.Write(t, p)
	}
	granted := "fs = [{ path = '${project}', access = 'rw' }]\n"
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/calm'\n" + granted + "[[plugins]]\npath = '../plugins/loud'\n" + granted +
		"[[plugins]]\npath = '../plugins/text'\n" + fmt.Sprintf("[[projects]]\nname = 'one'\npath = '%[1]s/one'\n[[projects]]\nname = 'two'\npath = '%[1]s/two'\n", w.Dir) + teamTables + more})
	s := &team{World: w, tokens: map[string]string{}}
	file := bearer.In(filepath.Join(w.Dir, "state", "bulkhead"))
	for _, user := range users {
		s.tokens[user] = makeNamed(t, file, user)
	}
	s.host = w.Open(t, w.Options())
	s.url, s.end = serveHTTP(t, s.host, host.HTTPOptions{Address: "127.0.0.1:0"})
	t.Cleanup(func() { _ = s.end() })
	return s
}

// endpoint returns the URL of a project.
func (s *team) endpoint(project string) string {
	if project == "" {
		return s.url
	}
	return s.url + "/" + project
}

// names returns the values of a member of the items of a list in an answer.
func names(t *testing.T, body, list, member string) (names []string) {
	t.Helper()
	var answer struct {
		Result map[string]json.RawMessage `json:"result"`
	}
	var items []map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if answer.Result[list] == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Result[list], &items); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		names = append(names, item[member].(string))
	}
	slices.Sort(names)
	return names
}

// TestClientsReachOnlyWhatTheModelGives sends random requests of principals with different rights to one server, several at once, and
// compares every answer with a model of the policy. What a principal may not use must look like something that does not exist.
func TestClientsReachOnlyWhatTheModelGives(t *testing.T) {
	users := []string{"root", "ann", "amy", "bob", "cyd", "dan", "dee", "eve"}
	s := serveTeam(t, "", nil, users...)
	var wait sync.WaitGroup
	for i := range 4 {
		r := rand.New(rand.NewPCG(uint64(i), 31))
		wait.Go(func() {
			for range testenv.Count(40, 120, 600) {
				s.try(t, r, users[r.IntN(len(users))], []string{"", "one", "two", "three"}[r.IntN(4)])
			}
		})
	}
	wait.Wait()
}

// try makes a random request.
func (s *team) try(t *testing.T, r *rand.Rand, user, project string) {
	want, url, token := model(user, project), s.endpoint(project), s.tokens[user]
	pick := func(from []string) string { return append(slices.Clone(from), "absent")[r.IntN(len(from)+1)] }
	fail := func(status int, body, what string) {
		t.Errorf("%s at %q: %s: got %d %s", user, project, what, status, body)
	}
	switch action := r.IntN(6); {
	case !want.admitted:
		status, body := callTool(t, url, token, pick(teamTools))
		if project == "" && status != http.StatusForbidden || project != "" && (status != http.StatusNotFound || !strings.Contains(body, "no such project")) {
			fail(status, body, "not admitted")
		}
	case action == 0:
		status, body := modern(t, url, token, "tools/list", "", "")
		if got := names(t, body, "tools", "name"); !slices.Equal(got, want.tools) {
			fail(status, body, "tools/list")
		}
	case action == 1:
		status, body := modern(t, url, token, "prompts/list", "", "")
		if got := names(t, body, "prompts", "name"); !slices.Equal(got, want.prompts) {
			fail(status, body, "prompts/list")
		}
	case action == 2:
		status, body := modern(t, url, token, "resources/list", "", "")
		if got := names(t, body, "resources", "uri"); !slices.Equal(got, want.notes) {
			fail(status, body, "resources/list")
		}
	case action == 3:
		uri := pick(teamNotes)
		status, body := modern(t, url, token, "resources/read", uri, fmt.Sprintf(`"uri":%q`, uri))
		if got := strings.Contains(body, "secret"); got != slices.Contains(want.notes, uri) {
			fail(status, body, "resources/read "+uri)
		}
	default:
		tool := pick(teamTools)
		status, body := callTool(t, url, token, tool)
		if slices.Contains(want.tools, tool) {
			if !strings.Contains(body, `"done"`) {
				fail(status, body, tool)
			}
			return
		}
		_, absent := callTool(t, url, token, "absent")
		if strings.ReplaceAll(absent, "absent", tool) != body {
			fail(status, body, tool+" does not look like an absent tool: "+absent)
		}
	}
}

// TestNoCacheSharesWhatClientsGet checks that a plugin cannot declare an answer to one client to be that of all, unless all clients get the same.
func TestNoCacheSharesWhatClientsGet(t *testing.T) {
	cached := hosttest.Plugin("cached", wasmtest.Answering(`{"result":{"contents":[{"uri":"c://x","text":"secret"}],"ttlMs":60000,"cacheScope":"public"}}`),
		"[offers]\nresources = ['c://']\n")
	read := func(url, token string) string {
		_, body := modern(t, url, token, "resources/read", "c://x", `"uri":"c://x"`)
		return body
	}
	s := serveTeam(t, "[[plugins]]\npath = '../plugins/cached'\n", []hosttest.Files{cached}, "root")
	for _, project := range []string{"", "one"} {
		if body := read(s.endpoint(project), s.tokens["root"]); !strings.Contains(body, `"ttlMs":60000,"cacheScope":"private"`) {
			t.Errorf("%q: %s", project, body)
		}
	}
	w := hosttest.New(t, cached)
	url, end := serveHTTP(t, w.Open(t, w.Options()), host.HTTPOptions{Address: "127.0.0.1:0"})
	defer func() { _ = end() }()
	if body := read(url, ""); !strings.Contains(body, `"ttlMs":60000,"cacheScope":"public"`) {
		t.Errorf("without tables: %s", body)
	}
}

// TestSessionsBelongToPrincipalAndProject checks that neither another principal nor another endpoint finds a session.
func TestSessionsBelongToPrincipalAndProject(t *testing.T) {
	s := serveTeam(t, "", nil, "root", "ann", "amy")
	open := func(user, project string) string {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, s.endpoint(project), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.tokens[user])
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.Header.Get("Mcp-Session-Id")
	}
	id := open("ann", "one")
	for _, c := range []struct {
		user, project string
		status        int
	}{{"ann", "one", 200}, {"amy", "one", 404}, {"root", "one", 404}, {"root", "", 404}, {"ann", "", 403}, {"ann", "two", 404}} {
		status, body := send(t, s.endpoint(c.project), s.tokens[c.user], `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			map[string]string{"Content-Type": "application/json", "Mcp-Session-Id": id})
		if status != c.status {
			t.Errorf("%s at %q: got %d %s, want %d", c.user, c.project, status, body, c.status)
		}
	}
	id = open("root", "")
	status, body := send(t, s.endpoint("one"), s.tokens["root"], `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, map[string]string{"Content-Type": "application/json", "Mcp-Session-Id": id})
	if status != http.StatusNotFound {
		t.Errorf("a session of the server's own project at another endpoint: %d %s", status, body)
	}
}
