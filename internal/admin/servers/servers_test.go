//go:build unix

package servers

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// installation is an installation with a server in a project that has the returned state.
func installation(t *testing.T, config, project string) (*admintest.Workspace, discovery.Options, *live.State) {
	t.Helper()
	w := admintest.New(t)
	w.Plugin(t, "first", "[capabilities]\nfs = [{ path = \"${project}\", access = \"r\", why = 'x' }]\nhttp = ['https://a.example']\n")
	w.Config(t, config)
	state, err := os.MkdirTemp("", "v") // whose path leaves room for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	o := w.Options()
	lookup := o.System.LookupEnv
	o.System.LookupEnv = func(name string) (string, bool) {
		if name == "XDG_STATE_HOME" {
			return state, true
		}
		return lookup(name)
	}
	at, err := discovery.StateDir(o.System)
	if err != nil {
		t.Fatal(err)
	}
	s := live.New("stdio", func(s *live.Snapshot) {
		if s.Config = w.Path("work/bulkhead.toml"); project != "" {
			s.ProjectDir = w.Path(project)
		}
	})
	server, err := live.Listen(live.Dir(at), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return w, o, s
}

func TestRefusalsHaveRemedies(t *testing.T) {
	_, o, state := installation(t, "[[plugins]]\npath = \"../plugins/first\"\nhttp = []\nlimits = { time = '1s' }\n", "work")
	state.Record(&audit.Record{Kind: audit.KindRefused, Plugin: "first", Operations: []audit.Operation{{Op: "http/fetch", Target: "https://a.example"}}})
	state.Record(&audit.Record{Kind: audit.KindCall, Plugin: "first", Code: "timeout", Principal: "local", Client: "editor/2"})
	got, err := NewWatcher(o).Look(t.Context())
	if err != nil || len(got.Servers) != 1 || len(got.Servers[0].Refusals) != 1 || len(got.Servers[0].LimitsHit) != 1 {
		t.Fatalf("%v, %+v", err, got)
	}
	s := got.Servers[0]
	if s.LimitsHit[0].Principal != "editor/2 (local)" || s.Ended[0].Principal != s.LimitsHit[0].Principal {
		t.Errorf("the clients are %q and %q", s.LimitsHit[0].Principal, s.Ended[0].Principal)
	}
	if s.Refusals[0].Key != "http" || s.Refusals[0].Command == "" || s.LimitsHit[0].Key != "limits.time" {
		t.Errorf("got %+v and %+v", s.Refusals[0].Remedy, s.LimitsHit[0].Remedy)
	}
}

func TestOlderRefusalsSayThatTheyAreNotExplained(t *testing.T) {
	_, o, state := installation(t, "[[plugins]]\npath = \"../plugins/first\"\nhttp = []\n", "work")
	for range maxExplained + 2 {
		state.Record(&audit.Record{Kind: audit.KindRefused, Plugin: "first", Operations: []audit.Operation{{Op: "http/fetch", Target: "https://a.example"}}})
	}
	got, err := NewWatcher(o).Look(t.Context())
	if err != nil || len(got.Servers) != 1 || len(got.Servers[0].Refusals) != maxExplained+2 {
		t.Fatalf("%v, %+v", err, got)
	}
	for i, r := range got.Servers[0].Refusals {
		if isNew := i < maxExplained; isNew != (r.Key == "http") || isNew == strings.Contains(r.Why, "only the newest 20") {
			t.Errorf("%d: got %+v", i, r.Remedy)
		}
	}
}

// TestOtherConfigExplainsNothing has a server with another config than the one that is in force here.
func TestOtherConfigExplainsNothing(t *testing.T) {
	w, o, state := installation(t, "[[plugins]]\npath = \"../plugins/first\"\n", "work")
	w.Write(t, "work/other.toml", "[[plugins]]\npath = \"../plugins/first\"\n")
	o.ConfigFile = "other.toml"
	state.Record(&audit.Record{Kind: audit.KindRefused, Plugin: "first", Operations: []audit.Operation{{Op: "git/branch"}}})
	got, err := NewWatcher(o).Look(t.Context())
	if err != nil || len(got.Servers) != 1 || len(got.Servers[0].Refusals) != 1 || got.Servers[0].Refusals[0].Command != "" || !strings.Contains(got.Servers[0].Refusals[0].Why, "another config") {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestDirectoriesOfOtherProjectsExplainNothing has refusals in the project of the page, in one of [[projects]], by a server in another directory, and by
// one that does not tell its project.
func TestDirectoriesOfOtherProjectsExplainNothing(t *testing.T) {
	for _, c := range []struct {
		dir, name, want string
	}{{"work", "", ""}, {"work", "docs", "another project"}, {"home", "", "another project"}, {"", "", "does not tell its project"}, {"", "docs", "another project"}} {
		w, o, state := installation(t, "[[plugins]]\npath = \"../plugins/first\"\nfs = []\n", c.dir)
		state.Record(&audit.Record{Kind: audit.KindRefused, Plugin: "first", Project: c.name, Operations: []audit.Operation{{Op: "file/stat", Target: w.Path("other/f")}}})
		got, err := NewWatcher(o).Look(t.Context())
		if err != nil || len(got.Servers) != 1 || len(got.Servers[0].Refusals) != 1 {
			t.Fatalf("%v, %+v", err, got)
		}
		if r := got.Servers[0].Refusals[0].Remedy; (r.Key == "fs") != (c.want == "") || !strings.Contains(r.Why, c.want) {
			t.Errorf("a server in %s, the project %q: got %+v", c.dir, c.name, r)
		}
	}
}
