//go:build unix

package grants

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// TestToolsWhoseCallsRunAreUsed has a log with a call of another tool only, and a server with a call that has not ended.
func TestToolsWhoseCallsRunAreUsed(t *testing.T) {
	w := newSample(t)
	w.Write(t, "audit.jsonl", `{"time":"`+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)+`","kind":"call","id":"1","plugin":"second","principal":"local","method":"tools/call","tool":"x_second_read","outcome":"ok"}`+"\n")
	dir, err := os.MkdirTemp("", "g") // whose path leaves room for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := w.Options()
	lookup := o.System.LookupEnv
	o.System.LookupEnv = func(name string) (string, bool) {
		if name == "XDG_STATE_HOME" {
			return dir, true
		}
		return lookup(name)
	}
	state, err := discovery.StateDir(o.System)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(config string) *live.State {
		s := live.New("stdio", func(s *live.Snapshot) { s.Config = config })
		server, err := live.Listen(live.Dir(state), s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		return s
	}
	s, other := serve(w.Path("work/bulkhead.toml")), serve("/other/bulkhead.toml")
	unused := func() (all string) {
		p, err := Look(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range p.Clients[0].UnusedTools() {
			all += u.Item.Name + " "
		}
		return all
	}
	if got := unused(); got != "first_read first_write " {
		t.Errorf("before the call these are unused: %s", got)
	}
	// The tool of another config, and a prompt, which can have the name of a tool.
	other.Begin(&audit.Record{Kind: audit.KindCall, Plugin: "first", Method: "tools/call", Tool: "first_write", Time: time.Now()}, &call.Times{})
	s.Begin(&audit.Record{Kind: audit.KindCall, Plugin: "first", Method: "prompts/get", Tool: "first_write", Time: time.Now()}, &call.Times{})
	s.Begin(&audit.Record{Kind: audit.KindCall, Plugin: "first", Method: "tools/call", Tool: "first_read", Time: time.Now()}, &call.Times{})
	if got := unused(); got != "first_write " {
		t.Errorf("while the call runs these are unused: %s", got)
	}
}

// TestUsesAreThoseOfTheClientsOfATable has calls by a token of ci, by the user, whom the table ops may match, and by clients with a JWT.
func TestUsesAreThoseOfTheClientsOfATable(t *testing.T) {
	w := newSample(t)
	tokens, err := discovery.NamedTokens(w.Options().System)
	if err != nil {
		t.Fatal(err)
	}
	_, ci, err := tokens.New(t.Context(), "ci-build", nil)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for tool, principal := range map[string]string{"first first_read": ci.PrincipalID(), "first first_write": "local", "second x_second_read": "oauth:0123"} {
		plugin, name, _ := strings.Cut(tool, " ")
		fmt.Fprintf(&log, `{"time":%q,"kind":"call","id":"1","plugin":%q,"principal":%q,"method":"tools/call","tool":%q,"outcome":"ok"}`+"\n", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), plugin, principal, name)
	}
	w.Write(t, "audit.jsonl", log.String())
	check := func(want map[string]string) {
		t.Helper()
		for _, c := range look(t, w).Clients {
			got := ""
			for _, p := range c.Plugins {
				for _, tool := range p.Tools {
					if !tool.Last.IsZero() {
						got += tool.Name + " "
					}
				}
			}
			if want := want[c.Name]; got != want {
				t.Errorf("of %s, uses of these tools are known: %s, want %s", c.Name, got, want)
			}
		}
	}
	const all = "first_read first_write x_second_read "
	check(map[string]string{"(this user)": all, "ci": "first_read ", "ops": "first_write x_second_read "})
	if _, err := tokens.Revoke(t.Context(), "ci-build"); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{"(this user)": all, "ci": "first_read ", "ops": all}) // the token may have been that of any table
}

// TestNothingIsUnusedUntilTheLogIsCounted has a log of more days than are counted at once.
func TestNothingIsUnusedUntilTheLogIsCounted(t *testing.T) {
	w := newSample(t)
	var log strings.Builder
	for day := 10; day > 0; day-- {
		fmt.Fprintf(&log, `{"time":%q,"kind":"call","id":"1","plugin":"first","principal":"local","method":"tools/call","tool":"first_read","outcome":"ok"}`+"\n",
			time.Now().AddDate(0, 0, -day).UTC().Format(time.RFC3339))
	}
	w.Write(t, "audit.jsonl", log.String())
	var u Use
	for range 10 {
		u = Use{}
		uses, err := u.count(t.Context(), w.Options(), w.Path("audit.jsonl"), -1)
		if err != nil {
			t.Fatal(err)
		}
		if u.Reason == "" {
			if len(uses) != 1 || u.From.IsZero() {
				t.Errorf("when all is counted: %+v, %+v", uses, u)
			}
			return
		}
		if !u.From.IsZero() {
			t.Errorf("the log is not counted yet, and uses are known from %s on", u.From)
		}
	}
	t.Errorf("the log is not counted: %+v", u)
}

// TestNothingIsUnusedThatIsNotKnown has a plugin with one grant that the log lacks.
func TestNothingIsUnusedThatIsNotKnown(t *testing.T) {
	before := time.Now()
	other := map[history.Grant]history.GrantUse{{Plugin: "p", Kind: "directory", Path: "/other"}: {Last: before}}
	for name, c := range map[string]struct {
		grant   Grant
		use     clientUse
		reused  bool
		claimed bool
	}{
		"known":                       {claimed: true},
		"something else was used":     {use: clientUse{grants: other}, claimed: true},
		"reused":                      {reused: true},
		"a worker was lost":           {use: clientUse{unknown: map[string]time.Time{"p": before}}},
		"of another plugin":           {use: clientUse{unknown: map[string]time.Time{"q": before}}, claimed: true},
		"a long path":                 {grant: Grant{Grant: review.Grant{What: "/" + strings.Repeat("x", 2000)}}},
		"a path that is not UTF-8":    {grant: Grant{Grant: review.Grant{What: "/\xff"}}},
		"a symbolic link":             {grant: Grant{Grant: review.Grant{What: "/link", Place: review.Place{Resolved: "/d"}}}, use: clientUse{grants: other}},
		"a directory for each client": {grant: Grant{Grant: review.Grant{What: "/users/" + explain.UnknownDir}}, use: clientUse{grants: other}},
		"a refused one":               {grant: Grant{Grant: review.Grant{What: "/d", Place: review.Place{Refused: "it is broad"}}}},
		"the state":                   {grant: Grant{Grant: review.Grant{What: "/d", State: true}}},
		"remotes":                     {grant: Grant{Key: "git", Kind: "repository", Grant: review.Grant{What: "/d", Remotes: []string{"https://example.com/r"}}}},
		"a web server":                {grant: Grant{Key: "http", Kind: "web server", Grant: review.Grant{What: "https://example.com"}}},
	} {
		if c.grant.What == "" {
			c.grant.What = "/d"
		}
		if c.grant.Key == "" {
			c.grant.Key, c.grant.Kind = "fs", "directory"
		}
		c.use.Use = &Use{GrantsFrom: before, Before: before}
		p := Plugin{PluginPolicy: explain.PluginPolicy{Name: "p"}, Grants: []Grant{c.grant}}
		c.use.describe(&p, c.reused)
		if got := p.Grants[0].Unused; got != c.claimed {
			t.Errorf("%s: unused = %v, want %v", name, got, c.claimed)
		}
	}
}
