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

// installation is an installation with a server that has the returned state.
func installation(t *testing.T, config string) (*admintest.Workspace, discovery.Options, *live.State) {
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
	s := live.New("stdio", func(s *live.Snapshot) { s.Config = w.Path("work/bulkhead.toml") })
	server, err := live.Listen(live.Dir(at), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return w, o, s
}

func TestRefusalsHaveTheLineAndTheCommand(t *testing.T) {
	w, o, state := installation(t, "[[plugins]]\npath = \"../plugins/first\"\nfs = []\nhttp = []\ndeny_tools = ['*']\nlimits = { time = '1s' }\n")
	for _, c := range []struct {
		record                  audit.Record
		at, key, allow, command string
	}{
		{audit.Record{Plugin: "first", Operations: []audit.Operation{{Op: "file/open", Target: w.Path("work/a b")}}}, "bulkhead.toml:3", "fs", "work/a b", "bulkhead policy first --path '" + w.Path("work/a b") + "'"},
		{audit.Record{Plugin: "first", Operations: []audit.Operation{{Op: "http/fetch", Target: "https://a.example"}}}, "bulkhead.toml:4", "http", `"https://a.example"`, "bulkhead policy first --origin https://a.example"},
		{audit.Record{Plugin: "first", Operations: []audit.Operation{{Op: "git/branch"}}}, "bulkhead.toml:1", "git", "", "bulkhead policy first"},
		{audit.Record{Method: "tools/call", Plugin: "first", Tool: "first_it", Code: "not_granted"}, "bulkhead.toml:5", "deny_tools", "", "bulkhead policy first --tool first_it"},
		{audit.Record{Method: "tools/call", Tool: "first_it", Principal: "token:ci"}, "", "allow_tools", "", "bulkhead policy --tool first_it --client ci"},
		{audit.Record{Method: "prompts/get", Tool: "first_it"}, "", "", "", ""},
		{audit.Record{Plugin: "first", Code: "timeout"}, "bulkhead.toml:6", "limits.time", "", "bulkhead policy first"},
		{audit.Record{Plugin: "first", Code: "approval_declined"}, "bulkhead.toml:1", "approve", "", "bulkhead policy first"},
		{audit.Record{Code: "http_token", Reason: "no token"}, "", "", "", ""},
		{audit.Record{Plugin: "first", Operations: []audit.Operation{{Op: "file/open", Target: "relative"}}}, "", "", "", ""},
		{audit.Record{Method: "tools/call", Tool: "$(reboot)'\u202e"}, "", "allow_tools", "", "bulkhead policy --tool "},
	} {
		c.record.Kind = audit.KindRefused
		state.Record(&c.record)
		got, err := NewWatcher(o).Look(t.Context())
		if err != nil || len(got.Servers) != 1 || len(got.Servers[0].Refused) == 0 {
			t.Fatalf("%v, %+v", err, got)
		}
		r := got.Servers[0].Refused[0]
		at := ""
		if len(r.At) > 0 {
			at = r.At[0].String()
		}
		if !strings.HasSuffix(at, c.at) || c.at == "" && at != "" || r.Key != c.key || !strings.Contains(r.Allow, c.allow) || !strings.HasPrefix(r.Command, c.command) || c.command == "" && r.Command != "" {
			t.Errorf("%+v: got %+v", c.record, r.Remedy)
		}
		if strings.ContainsAny(r.Command, "\u202e") || strings.Contains(r.Command, " $(") {
			t.Errorf("the command has hostile text: %q", r.Command)
		}
	}
}

// TestOtherConfigExplainsNothing has a server with another config than the one that is in force here.
func TestOtherConfigExplainsNothing(t *testing.T) {
	w, o, state := installation(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	w.Write(t, "work/other.toml", "[[plugins]]\npath = \"../plugins/first\"\n")
	o.ConfigFile = "other.toml"
	state.Record(&audit.Record{Kind: audit.KindRefused, Plugin: "first", Operations: []audit.Operation{{Op: "git/branch"}}})
	got, err := NewWatcher(o).Look(t.Context())
	if err != nil || len(got.Servers) != 1 || len(got.Servers[0].Refused) != 1 || got.Servers[0].Refused[0].Command != "" {
		t.Errorf("%v, %+v", err, got)
	}
}
