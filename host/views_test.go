package host_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

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
// project who may see the resource, and no others.
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
		{"root", withTables, strings.Replace(withTables, `match = { tokens = ["root"] }`, `match = { tokens = ["ruth"] }`, 1)}, // the table stays, for another principal
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
