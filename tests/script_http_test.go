//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// heldSite is a web server whose page /held is answered when the test says so.
type heldSite struct {
	*httptest.Server
	arrived chan string   // the query of each request of /held
	gone    chan string   // the query of each request that its client has ended without the answer
	release chan struct{} // answers one request for each item, or all of them when it is closed
}

func serveHeldSite(t testing.TB) *heldSite {
	s := &heldSite{arrived: make(chan string, 100), gone: make(chan string, 100), release: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			s.arrived <- r.URL.RawQuery
			select {
			case <-s.release:
			case <-r.Context().Done():
				s.gone <- r.URL.RawQuery
				return
			case <-t.Context().Done():
			}
		}
		fmt.Fprint(w, "User-agent: *\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// scriptTeam is a server over HTTP whose clients call tools by scripts.
type scriptTeam struct {
	*server
	config, audit string
	url           string
	env           []string
	tokens        map[string]string // by the name of the user
	project       string
	site          *heldSite
}

// serveScriptTeam serves the plugins filesystem, time and fetch to users with tokens. tables are the tables of [[clients]].
func serveScriptTeam(t testing.TB, server, tables string, users ...string) *scriptTeam {
	t.Helper()
	runner := otherPlugin(t, "script")
	plugins := builtPlugins(t, "../plugins/filesystem", "../plugins/time", "../plugins/fetch")
	dir := newDir(t, nil)
	s := &scriptTeam{config: filepath.Join(dir, "bulkhead.toml"), audit: filepath.Join(dir, "audit.jsonl"), env: environment(t), tokens: map[string]string{},
		project: newDir(t, map[string]string{"a.txt": "one", "b.txt": "two"}), site: serveHeldSite(t)}
	putFile(t, s.config, fmt.Sprintf("[server]\nname = 'x'\ntools = 'code'\n%s[http]\ntokens = true\n[audit]\nfile = %q\n%s[[plugins]]\npath = %q\nfs = [{ path = %q, access = 'rw' }]\n"+
		"[[plugins]]\npath = %q\n[[plugins]]\npath = %q\nhttp = [{ origin = %q, private = true }]\n", server, s.audit, tables,
		filepath.Join(plugins, "filesystem"), s.project, filepath.Join(plugins, "time"), filepath.Join(plugins, "fetch"), s.site.URL))
	for _, user := range users {
		s.tokens[user] = s.token(t, "new", user)
	}
	command := exec.Command(built.program(t), "serve", "--config", s.config, "--plugins", runner, "--http", "127.0.0.1:0")
	command.Dir, command.Env = dir, s.env
	s.server = startServer(t, command)
	s.url = httpURL(t, s.server)
	return s
}

// token runs a command about the tokens of the server.
func (s *scriptTeam) token(t testing.TB, args ...string) string {
	t.Helper()
	command := exec.Command(built.program(t), append([]string{"token"}, append(args, "--config", s.config)...)...)
	command.Env = s.env
	out, err := command.Output()
	if err != nil {
		t.Fatalf("token %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// run runs a script of a user as a client of 2026-07-28 does, and returns the body of the response.
func (s *scriptTeam) run(user, code string) string {
	s.t.Helper()
	_, body := modernCall(s.t, s.url, "run_script", jsonOf(s.t, map[string]any{"code": code, "arguments": map[string]string{"dir": s.project, "site": s.site.URL}}),
		"Authorization", "Bearer "+s.tokens[user])
	return body
}

// scriptValueOf returns the value of a script, or the text of its error, or the body if it is no result of a script.
func scriptValueOf(body string) string {
	if _, event, ok := strings.Cut(body, "data: {\"jsonrpc\":\"2.0\",\"id\":1,"); ok { // the last event of a stream
		body = "{" + event
	}
	var response struct {
		Result struct {
			StructuredContent struct {
				Value json.RawMessage
				Error struct{ Stack string }
			}
		}
	}
	_ = json.Unmarshal([]byte(body), &response)
	got := response.Result.StructuredContent
	switch {
	case got.Value != nil:
		return string(got.Value)
	case got.Error.Stack != "":
		return got.Error.Stack
	}
	return body
}

// TestScriptsOfPrincipals has clients of different rights run scripts at the same time: each script gets what its own client may call, and
// the records of its calls name its principal.
func TestScriptsOfPrincipals(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]string{"default budget": "", "budget of one worker": "memory = '64MiB'\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testScriptsOfPrincipals(t, memory)
		})
	}
}

func testScriptsOfPrincipals(t *testing.T, server string) {
	t.Helper()
	users := []string{"ann", "bob", "cyd", "dee"}
	s := serveScriptTeam(t, server, "[[clients]]\nname = 'all'\nmatch = { tokens = ['ann', 'dee'] }\n[[clients]]\nname = 'few'\nmatch = { tokens = ['bob'] }\nplugins = ['time']\n"+
		"[[clients]]\nname = 'none'\nmatch = { tokens = ['cyd'] }\ndeny_tools = ['run_script']\n", users...)
	const (
		files  = "return (await Promise.all(['a', 'b'].map((n) => tools.read_text_file({ path: `${args.dir}/${n}.txt` })))).map((r) => r.content)"
		absent = "return tools.no_such_tool({})"
		clock  = "return typeof await tools.get_current_time({ timezone: 'UTC' })"
	)
	unknown := func(tool string) string { return "ToolError: Unknown tool: " + tool }
	want := map[string]map[string]string{
		"ann": {files: `["one","two"]`, absent: unknown("no_such_tool"), clock: `"object"`},
		"bob": {files: unknown("read_text_file"), absent: unknown("no_such_tool"), clock: `"object"`},
		"cyd": {files: "Unknown tool: run_script", absent: "Unknown tool: run_script", clock: "Unknown tool: run_script"},
	}
	want["dee"] = want["ann"]
	var all sync.WaitGroup
	for range 6 { // 72 scripts
		for user, scripts := range want {
			for code, value := range scripts {
				all.Go(func() {
					if got := scriptValueOf(s.run(user, code)); !strings.Contains(got, value) {
						t.Errorf("%s runs %s: got %s, want %s", user, code, got, value)
					}
				})
			}
		}
	}
	all.Wait()
	for user, offered := range map[string]bool{"ann": true, "cyd": false} {
		_, body := postHTTP(t, s.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"Authorization", "Bearer "+s.tokens[user], "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/list")
		if strings.Contains(body, `"run_script"`) != offered || !strings.Contains(body, `"find_tools"`) {
			t.Errorf("the list of %s: %s", user, body)
		}
	}
	_, body := modernCall(t, s.url, "find_tools", `{"query":"read text file"}`, "Authorization", "Bearer "+s.tokens["bob"])
	if strings.Contains(body, "read_text_file") || !strings.Contains(body, "result") {
		t.Errorf("bob finds %s", body)
	}
	s.wantRecordsOfScripts(map[string]int{"ann": 18, "bob": 18, "dee": 18})
}

// scriptRecord is what the tests read of an audit record. Principal is the name of the user.
type scriptRecord struct {
	ID, Parent, Kind, Tool, Outcome, Principal, Via string
	Subject, Name                                   string // of a new token
}

// records ends the server, which writes a record after the response to its call, and returns all of them.
func (s *scriptTeam) records() (all []scriptRecord) {
	s.t.Helper()
	if s.cmd.ProcessState == nil {
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			s.t.Fatal(err)
		}
		s.exit()
	}
	names := map[string]string{}
	for line := range strings.Lines(readFile(s.t, s.audit)) {
		var r scriptRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		if r.Kind == "tokens" {
			names[r.Subject] = r.Name
		}
		r.Principal = names[r.Principal]
		all = append(all, r)
	}
	return all
}

// wantRecordsOfScripts checks that the users have run so many scripts, and that each call of a script has the principal of its parent.
func (s *scriptTeam) wantRecordsOfScripts(want map[string]int) {
	s.t.Helper()
	got, principals := map[string]int{}, map[string]string{}
	for _, r := range s.records() {
		if r.Tool == "run_script" && r.Parent == "" {
			principals[r.ID] = r.Principal
			got[r.Principal]++
		}
	}
	for _, r := range s.records() {
		if r.Via == "run_script" && (principals[r.Parent] == "" || principals[r.Parent] != r.Principal) {
			s.t.Errorf("a call of %s has the parent of %q: %+v", r.Principal, principals[r.Parent], r)
		}
	}
	for user, count := range want {
		if got[user] != count {
			s.t.Errorf("records name %d scripts of %s, want %d: %v", got[user], user, count, got)
		}
	}
}

// TestRevokedTokenEndsScripts revokes a token while scripts of its client run: they end with their calls, and those of another client go on.
func TestRevokedTokenEndsScripts(t *testing.T) {
	t.Parallel()
	s := serveScriptTeam(t, "", "", "ann", "bob")
	held := func(queries ...string) string {
		return "const [a] = await Promise.all(" + jsonOf(t, queries) + ".map((n) => tools.fetch({ url: `${args.site}/held?${n}`, raw: true }))); return a.includes('User-agent')"
	}
	bodies := map[string]chan string{"ann": make(chan string, 1), "bob": make(chan string, 1), "session": make(chan string, 1)}
	go func() { bodies["ann"] <- s.run("ann", held("ann")) }()
	go func() { bodies["bob"] <- s.run("bob", held("bob", "bob 2")) }()
	go func() { bodies["session"] <- s.runInSession("bob", held("session")) }()
	for range 4 { // as many requests as a plugin may make at a time
		s.await(s.site.arrived)
	}
	s.token(t, "revoke", "bob")
	for range 3 {
		if query := s.await(s.site.gone); query == "ann" {
			t.Errorf("the call %s of another client has ended", query)
		}
	}
	for _, way := range []string{"bob", "session"} {
		if body := s.await(bodies[way]); strings.Contains(body, "true") {
			t.Errorf("a script with a revoked token (%s) has a result: %s", way, body)
		}
	}
	if body := s.run("bob", "return 1"); strings.Contains(body, `"value"`) {
		t.Errorf("a script after the revocation: %s", body)
	}
	close(s.site.release)
	if got := scriptValueOf(s.await(bodies["ann"])); got != "true" {
		t.Errorf("the script of another client: %s", got)
	}
	outcomes := map[string]int{}
	for _, r := range s.records() {
		if r.Kind == "call" {
			outcomes[r.Principal+" "+r.Tool+" "+r.Outcome]++
		}
	}
	for outcome, want := range map[string]int{"ann run_script ok": 1, "ann fetch ok": 1, "bob run_script cancelled": 2, "bob fetch cancelled": 3} {
		if outcomes[outcome] != want {
			t.Errorf("%d records of %s, want %d: %v", outcomes[outcome], outcome, want, outcomes)
		}
	}
}

// await returns the next item of a channel.
func (s *scriptTeam) await(items <-chan string) string {
	s.t.Helper()
	select {
	case item := <-items:
		return item
	case <-time.After(patience):
		s.t.Fatal("nothing happens")
		return ""
	}
}

// runInSession runs a script in a session of 2025-11-25.
func (s *scriptTeam) runInSession(user, code string) string {
	token := []string{"Authorization", "Bearer " + s.tokens[user]}
	opened, _ := postHTTP(s.t, s.url, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, token...)
	arguments := jsonOf(s.t, map[string]any{"code": code, "arguments": map[string]string{"dir": s.project, "site": s.site.URL}})
	_, body := postHTTP(s.t, s.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_script","arguments":`+arguments+`}}`,
		append(token, "Mcp-Session-Id", opened.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-11-25")...)
	return body
}
