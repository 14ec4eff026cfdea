package client

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

const endpoint = "https://mcp.example.com/mcp"

// remotes are the entries of all clients with a URL, with a token and without.
var remotes = []struct {
	id          string
	with, alone string // content of a new file; empty if the client refuses the entry
	refused     string
}{
	{"claude-code", `{"mcpServers":{"bulkhead":{"type":"http","url":"URL","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`,
		`{"mcpServers":{"bulkhead":{"type":"http","url":"URL"}}}`, ""},
	{"claude-desktop", "", "", "does not read URLs from its file: add the URL in its settings"},
	{"cursor", `{"mcpServers":{"bulkhead":{"url":"URL","headers":{"Authorization":"Bearer ${env:TOKEN}"}}}}`,
		`{"mcpServers":{"bulkhead":{"url":"URL"}}}`, ""},
	{"vscode", `{"servers":{"bulkhead":{"type":"http","url":"URL","headers":{"Authorization":"Bearer ${env:TOKEN}"}}}}`,
		`{"servers":{"bulkhead":{"type":"http","url":"URL"}}}`, ""},
	{"codex", "[mcp_servers.bulkhead]url = \"URL\"bearer_token_env_var = \"TOKEN\"", "[mcp_servers.bulkhead]url = \"URL\"", ""},
	{"zed", "", `{"context_servers":{"bulkhead":{"url":"URL"}}}`, "replaces no variables in its file: omit --token-env"},
	{"windsurf", `{"mcpServers":{"bulkhead":{"serverUrl":"URL","headers":{"Authorization":"Bearer ${env:TOKEN}"}}}}`,
		`{"mcpServers":{"bulkhead":{"serverUrl":"URL"}}}`, ""},
	{"gemini", `{"mcpServers":{"bulkhead":{"type":"http","url":"URL","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`,
		`{"mcpServers":{"bulkhead":{"type":"http","url":"URL"}}}`, ""},
	{"opencode", `{"mcp":{"bulkhead":{"type":"remote","url":"URL","headers":{"Authorization":"Bearer {env:TOKEN}"}}}}`,
		`{"mcp":{"bulkhead":{"type":"remote","url":"URL"}}}`, ""},
}

func TestAddWritesURLInShapeOfEachClient(t *testing.T) {
	if len(remotes) != len(clients) {
		t.Fatalf("%d entries for %d clients", len(remotes), len(clients))
	}
	compact := strings.NewReplacer("\n", "", "  ", "", `": `, `":`, `", "`, `","`, endpoint, "URL")
	for _, r := range remotes {
		for token, want := range map[string]string{"TOKEN": r.with, "": r.alone} {
			u := newUser(t)
			o := Options{URL: endpoint, TokenEnv: token}
			if want == "" {
				if change, err := u.try(Add, r.id, o); err == nil || !strings.Contains(err.Error(), r.refused) {
					t.Errorf("%s with the token %q: %+v, %v", r.id, token, change, err)
				}
				continue
			}
			change := u.run(Add, r.id, o)
			if got := compact.Replace(u.place(u.read(strings.TrimPrefix(change.File, u.root+"/")))); got != want {
				t.Errorf("%s with the token %q: got %s, want %s", r.id, token, got, want)
			}
			if notes := strings.Join(change.Notes, " "); strings.Contains(notes, "TOKEN") != (token != "") || strings.Contains(notes, "project") {
				t.Errorf("%s with the token %q: got the notes %s", r.id, token, notes)
			}
			if again := u.run(Add, r.id, o); again.Action != ActionNone {
				t.Errorf("%s: adding the same entry again changes the file: %s", r.id, again.Diff)
			}
			listed := u.entries(r.id)
			if len(listed) != 1 || listed[0].URL != endpoint || listed[0].TokenEnv != token || listed[0].Problems != nil {
				t.Errorf("%s: List returned %+v", r.id, listed)
			}
			if removed := u.run(Remove, r.id, Options{}); removed.Action != ActionRemove || len(u.entries(r.id)) != 0 {
				t.Errorf("%s: Remove returned %+v", r.id, removed)
			}
		}
	}
}

// entries returns what List finds in the user's file of a client.
func (u *user) entries(id string) []Found {
	u.t.Helper()
	c, err := Find(id)
	if err != nil {
		u.t.Fatal(err)
	}
	return List(u.System, []*Client{c})[0].Entries
}

func TestUpdateOfURLKeepsOtherHeadersAndHidesThem(t *testing.T) {
	u := newUser(t)
	text := `{"mcpServers": {"bulkhead": {"url": "https://old.example.com/mcp", // old
  "headers": {"X-Team": "s3cret", "Authorization": "Bearer s3cret"}, "timeout": 7}}}`
	u.put("home/.cursor/mcp.json", text)
	// Without a token, the entry keeps the one that it has.
	kept := u.run(Add, "cursor", Options{URL: endpoint})
	if got := u.read("home/.cursor/mcp.json"); got != strings.Replace(text, "https://old.example.com/mcp", endpoint, 1) {
		t.Errorf("got %s", got)
	}
	if notes := strings.Join(kept.Notes, " "); notes != "the entry keeps its other settings (headers, timeout): review them in the file" {
		t.Errorf("got the notes %s", notes)
	}
	changed := u.run(Add, "cursor", Options{URL: endpoint, TokenEnv: "TOKEN"})
	want := []string{
		`  "bulkhead": {`,
		`    "url": "` + endpoint + `",`,
		`-   "headers": …,`,
		`+   "headers": {"Authorization": "Bearer ${env:TOKEN}", …},`,
		`    "timeout": …`,
		`  }`,
	}
	if diff := cmp.Diff(want, changed.Diff); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
	if got := u.read("home/.cursor/mcp.json"); !strings.Contains(got, `{"X-Team": "s3cret", "Authorization": "Bearer ${env:TOKEN}"}, "timeout": 7`) || !strings.Contains(got, "// old") {
		t.Errorf("got %s", got)
	}
	for _, change := range []*Change{kept, changed, u.run(Remove, "cursor", Options{})} {
		if shown, err := json.Marshal(change); err != nil || strings.Contains(string(shown), "s3cret") {
			t.Errorf("the change shows a header: %s %v", shown, err)
		}
	}
}

func TestCheckURLRefusesWhatLeaksOrIsAmbiguous(t *testing.T) {
	for text, want := range map[string]string{
		"https://mcp.example.com/mcp":                            "",
		"https://mcp.example.com:8443/mcp/app":                   "",
		"http://127.0.0.1:8808/mcp":                              "",
		"http://[::1]:8808/mcp":                                  "",
		"http://localhost:8808/mcp":                              "",
		"http://mcp.example.com/mcp":                             "https is required",
		"http://127.0.0.1.example.com/mcp":                       "https is required",
		"http://0.0.0.0:8808/mcp":                                "https is required",
		"ws://mcp.example.com/mcp":                               "https is required",
		"file:///etc/passwd":                                     "not a URL",
		"mcp.example.com/mcp":                                    "not a URL",
		"https:mcp.example.com/mcp":                              "not a URL",
		"https://:8443/mcp":                                      "not a URL",
		"https://mcp.example.com\n/mcp":                          "not a URL",
		"https://mcp.example.com\"/mcp":                          "not a URL",
		"https://b\u00fccher.example/mcp":                        "not a URL",
		"https://ann:s3cret@example.com/mcp":                     "a user name, a query",
		"https://example.com/mcp?key=s3cret":                     "a user name, a query",
		"https://example.com/mcp?":                               "a user name, a query",
		"https://example.com/mcp#s3cret":                         "a user name, a query",
		"https://example.com/${S3CRET}/mcp":                      "the character $",
		"https://mcp.example.com":                                "has no path: the endpoint is https://mcp.example.com/mcp",
		"https://mcp.example.com/":                               "the endpoint is https://mcp.example.com/mcp",
		"HTTPS://mcp.example.com/mcp":                            "write https://mcp.example.com/mcp",
		"https://mcp.example.com/{env:A}/mcp":                    "not in canonical form",
		"https://mcp.example.com/a b/mcp":                        "not in canonical form",
		"https://mcp.example.com/" + strings.Repeat("m", maxURL): "longer than",
	} {
		err := CheckURL(text, "")
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if usage := (*usage.Error)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"s3cret-token", "1A", "${A}", "A B"} {
		if err := CheckURL(endpoint, name); err == nil || !strings.Contains(err.Error(), "not the name of a variable") || strings.Contains(err.Error(), name) {
			t.Errorf("--token-env %s: %v", name, err)
		}
	}
}

// A file does not say whose server is at a URL: the name does.
func TestOnlyURLsWithNamesOfBulkheadAreItsEntries(t *testing.T) {
	u := newUser(t)
	u.put("home/.cursor/mcp.json", `{"mcpServers": {
		"linear": {"url": "https://mcp.linear.app/mcp"},
		"bulkheads": {"url": "https://theirs.example.com/mcp"},
		"bulkhead-app": {"url": "https://mcp.example.com/mcp/app", "disabled": true},
		"bulkhead-key": {"url": "https://mcp.example.com/mcp?key=s3cret"},
		"bulkhead-run": {"command": "`+u.Program+`", "args": ["serve"]}}}`)
	found, err := json.Marshal(u.entries("cursor"))
	want := `[{"name":"bulkhead-app","url":"https://mcp.example.com/mcp/app","problems":["is disabled"]},` +
		`{"name":"bulkhead-run","command":"` + u.Program + `","args":["serve"]}]`
	if err != nil || string(found) != want {
		t.Errorf("List found %s %v, want %s", found, err, want)
	}
	for name, want := range map[string]string{
		"linear": "--name: \"linear\" is not a name for an entry with a URL, which is recognized by its name: use bulkhead or bulkhead-…", "bulkheads": "--name",
		"bulkhead-key": "starts another server", "bulkhead-run": "of the other kind",
	} {
		if _, err := u.try(Add, "cursor", Options{Name: name, URL: endpoint}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Add of %s: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"linear", "bulkheads", "bulkhead-key"} {
		if _, err := u.try(Remove, "cursor", Options{Name: name}); err == nil || !strings.Contains(err.Error(), "does not start Bulkhead") {
			t.Errorf("Remove of %s: %v", name, err)
		}
	}
	if _, err := u.try(Add, "cursor", Options{Name: "bulkhead-app"}); err == nil || !strings.Contains(err.Error(), "of the other kind") {
		t.Errorf("Add of a program with the name of a URL: %v", err)
	}
	left := LeftBy(nil, u.System, nil)
	if len(left) != 2 || left[0].Name != "bulkhead-app" || left[0].RemoveLine() != "bulkhead client remove cursor --name bulkhead-app" {
		t.Errorf("LeftBy returned %+v", left)
	}
}

func TestOwnCommandAddsURLUnlessItWouldConnect(t *testing.T) {
	u := newUser(t)
	u.install("claude", `echo '{"mcpServers": {"bulkhead": {"type": "http", "url": "`+endpoint+`", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}' >"$HOME"/.claude.json`)
	u.install("codex", "exit 1")
	t.Setenv("HOME", u.Home)
	o := Options{URL: endpoint, TokenEnv: "TOKEN"}
	added := u.run(Add, "claude-code", o)
	if line := added.CommandLine(); line != "claude mcp add --transport http --scope user bulkhead "+endpoint+" --header 'Authorization: Bearer ${TOKEN}'" {
		t.Errorf("command line: %s", line)
	}
	if codex := u.run(Add, "codex", o); codex.Command != nil || !codex.Changed {
		t.Errorf("got %+v", codex)
	}
	if got := u.place(u.read("calls")); got != "ROOT/home: mcp add --transport http --scope user bulkhead "+endpoint+" --header Authorization: Bearer ${TOKEN}\n" {
		t.Errorf("got the calls of the clients' programs %s", got)
	}
}
