package explain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth"
)

// TestClaimsNameTheGroupsOfAServer checks that a file of claims has the groups that a server reads in a token with these claims.
func TestClaimsNameTheGroupsOfAServer(t *testing.T) {
	for groups, want := range map[string][]string{
		`"ops"`:          {"ops"},
		`["ops", "dev"]`: {"ops", "dev"},
		`["ops", 1]`:     nil,
		`{"ops": true}`:  nil,
	} {
		file := filepath.Join(t.TempDir(), "claims.json")
		if err := os.WriteFile(file, []byte(`{"iss": "https://id.example", "sub": "ann", "groups": `+groups+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := readClaims(file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Groups, want) {
			t.Errorf("groups = %s: got %q, want %q", groups, p.Groups, want)
		}
	}
}

// TestClientHasPrincipalOfTheAuditLog has a JWT, a client without a token, a named token, and two tokens of one name.
func TestClientHasPrincipalOfTheAuditLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "claims.json")
	if err := os.WriteFile(file, []byte(`{"iss": "https://id.example", "sub": "ann"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	o := discovery.Options{System: discovery.System{Dir: home, LookupEnv: func(name string) (string, bool) { return home, name == "HOME" }}}
	tokens, err := discovery.NamedTokens(o.System)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"local": "local", "twice": "", "none": ""}
	for _, name := range []string{"once", "twice", "twice"} {
		_, made, err := tokens.New(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name == "once" {
			want[name] = made.PrincipalID()
		}
	}
	jwt, err := oauth.Principal([]byte(`{"iss": "https://id.example", "sub": "ann"}`))
	if err != nil {
		t.Fatal(err)
	}
	want[file] = jwt.ID
	for client, principal := range want {
		if got, err := clientCalled(o, &catalog.Catalog{Found: &discovery.Found{}}, client); err != nil || got.Principal != principal {
			t.Errorf("%s: got %q, %v, want %q", client, got.Principal, err, principal)
		}
	}
}

// TestResolverOfClientsResolvesEachPathOnce has the same directory for several clients, and one that a client narrows.
func TestResolverOfClientsResolvesEachPathOnce(t *testing.T) {
	n := 0
	r := remembering(func(_, path string, within []string) review.Place {
		n++
		return review.Place{Resolved: path + strings.Join(within, " ")}
	})
	for range 3 {
		if r(review.Folder, "/a", nil).Resolved != "/a" || r(review.Folder, "/a", []string{"/b"}).Resolved != "/a/b" || r(review.Repository, "/a", nil).Resolved != "/a" {
			t.Error("another place")
		}
	}
	if n != 3 {
		t.Errorf("%d paths were resolved, want 3", n)
	}
}

// TestClientsAreCalledByTokenOrTable has a token, one of the name of a table, one that is not made yet, a table that only a JWT matches, and names of neither.
func TestClientsAreCalledByTokenOrTable(t *testing.T) {
	home := t.TempDir()
	o := discovery.Options{System: discovery.System{Dir: home, LookupEnv: func(name string) (string, bool) { return home, name == "HOME" }}}
	tokens, err := discovery.NamedTokens(o.System)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ci-build", "ops"} {
		if _, _, err := tokens.New(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	c, problems := config.Parse("/x/bulkhead.toml", []byte("[http]\ntokens = true\n[[clients]]\nname = \"ci\"\nmatch = { tokens = [\"ci-*\", \"o*\"] }\n[[clients]]\nname = \"ops\"\nmatch = { auth = \"oauth\" }\n[[clients]]\nname = \"people\"\nmatch = { auth = \"oauth\" }\n[clients.quota]\nconcurrent = 1\n"))
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	view := &catalog.Catalog{Found: &discovery.Found{Clients: c.Clients}}
	for name, want := range map[string]string{
		"table:ops": "ops: clients[ops] (", "table:none": "there is no table of [[clients]] of this name",
		"ci-build": "ci: clients[ci] (/x/bulkhead.toml:3)", "ci-new": "there is no token of this name", "ci": "ci: clients[ci] (", "people": "people: clients[people] (", "ops": "ci: clients[ci]",
		"developerz": "the names are ci-build, ops, ci, ops, people", "peopel": `did you mean "people"?`, "ci-buidl": "ci: ",
	} {
		found, err := clientCalled(o, view, name)
		if got := found.Table + ": " + found.By; err == nil && !strings.Contains(got, want) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
		if known := name == "ci-build" || name == "ops"; known != (found.Principal != "") || (name == "people") != (found.Quota != nil) {
			t.Errorf("%s: got %+v", name, found)
		}
	}
	if err := os.WriteFile(tokens.Path(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := clientCalled(o, view, "ops"); err == nil || !strings.Contains(err.Error(), "the named tokens are not known") {
		t.Errorf("with damaged tokens: got %+v, %v", found, err)
	}
	if found, err := clientCalled(o, view, "table:ops"); err != nil || found.Table != "ops" {
		t.Errorf("with damaged tokens: got %+v, %v", found, err)
	}
}
