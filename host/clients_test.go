package host_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
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

// twoProjects has two projects, and a plugin that writes in its project and in its state directory.
func twoProjects(t *testing.T, more string) *hosttest.World {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[[capabilities.fs]]\npath = '${project}'\naccess = 'rw'\n[[capabilities.fs]]\npath = '${state}'\naccess = 'rw'\n"+hosttest.Writes("a_writes")),
		hosttest.Files{"one/x": "", "two/x": ""})
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = '../plugins/a'\nfs = [{ path = '${project}', access = 'rw' }, { path = '${state}', access = 'rw' }]\n"+
		"[[projects]]\nname = 'one'\npath = '%[1]s/one'\n[[projects]]\nname = 'two'\npath = '%[1]s/two'\n", w.Dir) + more})
	return w
}

// states returns the number of state directories of plugin a for projects.
func states(t *testing.T, w *hosttest.World) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.Dir, "state", "bulkhead", ".projects", "*", "a"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// TestProjectsHaveEndpointsOfTheirOwn checks that each project has an endpoint with its own workers and state, and that a path of no project
// has none.
func TestProjectsHaveEndpointsOfTheirOwn(t *testing.T) {
	w := twoProjects(t, "")
	url, end := serveHTTP(t, w.Open(t, w.Options()), host.HTTPOptions{Address: "127.0.0.1:0"})
	defer func() { _ = end() }()
	for i, endpoint := range []string{"", "/one", "/two"} {
		status, body := callTool(t, url+endpoint, "", "a_writes")
		if status != http.StatusOK || !strings.Contains(body, `"done"`) {
			t.Errorf("%s: %d %s", endpoint, status, body)
		}
		if n := states(t, w); n != i {
			t.Errorf("after a call at %q, %d projects have a state directory, want %d", endpoint, n, i)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "state", "bulkhead", "a")); err != nil {
		t.Errorf("the state of the server's own project: %v", err)
	}
	for _, endpoint := range []string{"/three", "/", "/one/", "/one/x", "/ONE", "/..%2fone"} {
		if status, body := callTool(t, url+endpoint, "", "a_writes"); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", endpoint, status, body)
		}
	}
}

func TestInvalidProjectsAreRefusedAtStart(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), hosttest.Files{"one/x": ""})
	for path, want := range map[string]string{
		"'" + w.Dir + "/none'":                   "projects[0].path",
		"'" + w.Dir + "/one/x'":                  "is not a directory",
		"'/'":                                    "everything in it would be granted",
		"'" + w.Dir + "/home'":                   "everything in it would be granted",
		"'relative'":                             "projects[0].path: is not absolute",
		"'/x'\n[[projects]]\nname='p'\npath='/'": "is the name of two projects",
	} {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n[[projects]]\nname = 'p'\npath = " + path + "\n"})
		_, err := host.Open(w.Options())
		hosttest.WantUsage(t, err, want)
	}
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

// listen opens a stream of the changes of resources, and returns its messages. The first one is the acknowledgement.
func (s *team) listen(t *testing.T, user, project string, uris ...string) *bufio.Scanner {
	t.Helper()
	subscribed, err := json.Marshal(uris)
	if err != nil {
		t.Fatal(err)
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint(project), strings.NewReader(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"resourceSubscriptions":%s},%s}}`, subscribed, meta)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "Authorization": "Bearer " + s.tokens[user]} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return bufio.NewScanner(answer.Body)
}

// next returns the next message of a stream; empty at its end.
func next(stream *bufio.Scanner) string {
	for stream.Scan() {
		if message, ok := strings.CutPrefix(stream.Text(), "data: "); ok && message != "" {
			return message
		}
	}
	return ""
}

// ringing returns a plugin whose calls report a change of the resource NAME://x.
func ringing(name string) hosttest.Files {
	return hosttest.Plugin(name, wasmtest.Operating(`{"op":"notify","params":{"method":"notifications/resources/updated","params":{"uri":"`+name+`://x"}}}`, hosttest.Done),
		"[offers]\nresources = ['"+name+"://']\nsubscribe = true\nlist_changed = true\n"+hosttest.Reads(name+"_rings"))
}

// TestChangesAreAnnouncedToThoseWhoSeeTheResource checks that a change that a principal makes reaches those of other rights in the same
// project who may see the resource, and nobody else.
func TestChangesAreAnnouncedToThoseWhoSeeTheResource(t *testing.T) {
	s := serveTeam(t, "[[plugins]]\npath = '../plugins/first'\n[[plugins]]\npath = '../plugins/last'\n"+
		"[[clients]]\nname = 'lasting'\nmatch = { tokens = ['lou'] }\nplugins = ['last']\n[[clients]]\nname = 'blind'\nmatch = { tokens = ['liz'] }\ndeny_resources = ['first://*']\n",
		[]hosttest.Files{ringing("first"), ringing("last")}, "root", "ann", "lou", "liz")
	streams := map[string]*bufio.Scanner{}
	for _, c := range []struct{ user, project, acknowledged string }{
		{"root", "one", "first://x"}, {"ann", "one", "first://x"}, {"lou", "one", ""}, {"liz", "one", ""}, {"root", "two", "first://x"},
	} {
		name := c.user + " at " + c.project
		streams[name] = s.listen(t, c.user, c.project, "first://x", "last://x")
		if got := next(streams[name]); strings.Contains(got, "first://x") != (c.acknowledged != "") || !strings.Contains(got, "last://x") {
			t.Errorf("%s: acknowledged %s", name, got)
		}
	}
	for _, call := range [][2]string{{"one", "first_rings"}, {"one", "last_rings"}, {"two", "last_rings"}} {
		if status, body := callTool(t, s.endpoint(call[0]), s.tokens["root"], call[1]); !strings.Contains(body, "done") {
			t.Fatalf("%d %s", status, body)
		}
	}
	// Changes of one session are announced in their order, so that a change that must not be announced would precede the last one.
	for name, want := range map[string][]string{
		"root at one": {"first://x", "last://x"}, "ann at one": {"first://x", "last://x"}, "lou at one": {"last://x"}, "liz at one": {"last://x"}, "root at two": {"last://x"},
	} {
		for _, uri := range want {
			if got := next(streams[name]); !strings.Contains(got, `"uri":"`+uri+`"`) {
				t.Errorf("%s: got %s, want %s", name, got, uri)
			}
		}
	}
}

// TestReloadChangesViews changes the tables while the server runs: rights follow at once, and the streams of clients whose table is gone end.
func TestReloadChangesViews(t *testing.T) {
	s := serveTeam(t, "", nil, "root", "ann", "bob")
	config := filepath.Join(s.Dir, "work", "bulkhead.toml")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(old, new string) error {
		t.Helper()
		if !strings.Contains(string(before), old) {
			t.Fatalf("the config does not contain %s", old)
		}
		s.Write(t, hosttest.Files{"work/bulkhead.toml": strings.Replace(string(before), old, new, 1)})
		return s.host.Reload(t.Context())
	}
	want := func(user, project, tools string) {
		t.Helper()
		status, body := modern(t, s.endpoint(project), s.tokens[user], "tools/list", "", "")
		if status != http.StatusOK {
			if tools != fmt.Sprint(status) {
				t.Errorf("%s: %d %s, want %s", user, status, body, tools)
			}
			return
		}
		if got := strings.Join(names(t, body, "tools", "name"), " "); got != tools {
			t.Errorf("%s: got %s, want %s", user, got, tools)
		}
	}
	want("ann", "one", "calm_reads loud_reads text_reads")
	want("bob", "", "calm_reads text_reads")
	kept, ended := s.listen(t, "ann", "one"), s.listen(t, "bob", "")
	next(kept)
	next(ended)
	if err := reload(`name = "readers"`+"\n", `name = "readers"`+"\ndeny_tools = ['loud_reads']\n"); err != nil {
		t.Fatal(err)
	}
	want("ann", "one", "calm_reads text_reads")
	if got := next(kept); !strings.Contains(got, "tools/list_changed") {
		t.Errorf("the client is told %s", got)
	}
	if err := reload(`name = "few"`, `name = "fewer"`); err != nil {
		t.Fatal(err)
	}
	want("bob", "", "calm_reads text_reads")
	if got := next(ended); !strings.Contains(got, `"id":"s"`) {
		t.Errorf("the stream of a table that is gone: %s", got)
	}
	if err := reload(`match = { tokens = ["bob"] }`, `match = { tokens = ["nobody"] }`); err != nil {
		t.Fatal(err)
	}
	want("bob", "", "") // the next table that matches grants nothing
	if err := reload(`name = 'two'`, `name = 'three'`); err == nil || !strings.Contains(err.Error(), "[[projects]] has changed") {
		t.Errorf("a change of the projects: %v", err)
	}
	want("root", "two", "calm_reads calm_writes loud_reads loud_writes text_reads")
}

// TestViewsOfSinglePrincipalsAreBounded checks that principals whose table names ${client} get a view each, up to a bound.
func TestViewsOfSinglePrincipalsAreBounded(t *testing.T) {
	testenv.NotShort(t, "it makes hundreds of tokens")
	const bound = 256
	var users []string
	for i := range bound + 1 {
		users = append(users, fmt.Sprint("u", i))
	}
	s := serveTeam(t, "[[clients]]\nname = 'many'\nmatch = { tokens = ['u*'] }\nfs = [{ path = '${project}/${client}', access = 'rw' }]\n", nil, append(users, "root", "dan")...)
	for i, user := range users {
		want := http.StatusOK
		if i == bound {
			want = http.StatusServiceUnavailable
		}
		if status, body := modern(t, s.url, s.tokens[user], "tools/list", "", ""); status != want {
			t.Fatalf("%s: %d %s, want %d", user, status, body, want)
		}
	}
	if status, body := modern(t, s.url, s.tokens["root"], "tools/list", "", ""); status != http.StatusOK {
		t.Errorf("a principal without a directory of its own: %d %s", status, body)
	}
}

// TestStreamsEndWhenClientsAreMatchedAnew checks that no stream stays open with the rights that its principal had before a reload changed which
// table applies to whom.
func TestStreamsEndWhenClientsAreMatchedAnew(t *testing.T) {
	s := serveTeam(t, "[[plugins]]\npath = '../plugins/first'\n", []hosttest.Files{ringing("first")}, "root", "eve")
	config := filepath.Join(s.Dir, "work", "bulkhead.toml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	withTables, withoutTables := string(text), strings.Replace(string(text), teamTables, "\n[http]\ntokens = true\n", 1)
	apply := func(text string) {
		t.Helper()
		s.Write(t, hosttest.Files{"work/bulkhead.toml": text})
		if err := s.host.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ user, before, after string }{
		{"root", withTables, strings.Replace(withTables, `match = { tokens = ["root"] }`, `match = { tokens = ["ruth"] }`, 1)}, // the table stays, for somebody else
		{"root", withTables, strings.Replace(withTables, `name = "root"`, "name = \"root\"\nprojects = []", 1)},
		{"root", withTables, strings.Replace(withTables, "[[clients]]", "[[clients]]\nname = 'nothing'\nmatch = { auth = 'any' }\nplugins = []\n[[clients]]", 1)},
		{"eve", withoutTables, withTables},
	} {
		apply(c.before)
		listening, legacy := s.listen(t, c.user, "", "first://x"), s.get(t, c.user)
		if got := next(listening); !strings.Contains(got, "first://x") {
			t.Fatalf("%s: acknowledged %s", c.user, got)
		}
		apply(c.after)
		for {
			got := next(listening)
			if strings.Contains(got, `"id":"s"`) {
				break
			}
			if !strings.Contains(got, "list_changed") {
				t.Fatalf("%s: got %q", c.user, got)
			}
		}
		for got := next(legacy); got != ""; got = next(legacy) {
			if !strings.Contains(got, "list_changed") {
				t.Fatalf("%s: got %q", c.user, got)
			}
		}
	}
}

// get opens a session and the stream of its own messages.
func (s *team) get(t *testing.T, user string) *bufio.Scanner {
	t.Helper()
	do := func(method, body, session string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.tokens[user])
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		if answer.StatusCode/100 != 2 {
			t.Fatalf("%s: %s", method, answer.Status)
		}
		return answer
	}
	id := do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "").Header.Get("Mcp-Session-Id")
	do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, id)
	return bufio.NewScanner(do(http.MethodGet, "", id).Body)
}

// TestQuotas exceeds the bounds of a table: each is answered with the status or the error that the documentation names, and other
// principals of the table are not affected.
func TestQuotas(t *testing.T) {
	tables := ""
	for name, quota := range map[string]string{"rate": "requests_per_second = 1", "volume": "bytes_per_day = '2KiB'", "work": "fuel_per_day = 1"} {
		tables += fmt.Sprintf("[[clients]]\nname = '%[1]s'\nmatch = { tokens = ['%[1]s-*'] }\nquota = { %[2]s }\n", name, quota)
	}
	users := []string{"root"}
	for _, name := range []string{"rate", "volume", "work"} {
		users = append(users, name+"-a", name+"-b")
	}
	s := serveTeam(t, tables, nil, users...)
	for name, want := range map[string]string{"rate": "429 requests_per_second", "volume": "429 bytes_per_day", "work": "200 fuel_per_day"} {
		got := ""
		for i := range 100 {
			status, body := callTool(t, s.url, s.tokens[name+"-a"], "calm_reads")
			if strings.Contains(body, `"code":"quota"`) {
				var answer struct {
					Error struct {
						Data map[string]struct {
							Quota      string `json:"quota"`
							RetryAfter int    `json:"retry_after"`
						} `json:"data"`
					} `json:"error"`
				}
				if err := json.Unmarshal([]byte(body), &answer); err != nil {
					t.Fatal(err)
				}
				e := answer.Error.Data["bulkhead/error"]
				if got = fmt.Sprint(status, " ", e.Quota); e.RetryAfter < 1 || i == 0 {
					t.Errorf("%s: request %d: %s", name, i, body)
				}
				break
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if status, body := callTool(t, s.url, s.tokens[name+"-b"], "calm_reads"); !strings.Contains(body, `"done"`) {
			t.Errorf("another principal of %s: %d %s", name, status, body)
		}
	}
	for range 5 {
		if status, body := callTool(t, s.url, s.tokens["root"], "calm_reads"); !strings.Contains(body, `"done"`) {
			t.Errorf("a principal without quota: %d %s", status, body)
		}
	}
}
