package install_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/reference"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// references returns a workspace with the manifests of the plugins that replace reference servers, and options to migrate to them.
func references(t *testing.T) (*admintest.Workspace, discovery.Options) {
	t.Helper()
	w := admintest.New(t)
	for _, name := range []string{"fetch", "filesystem", "git", "memory", "time"} {
		manifest, err := os.ReadFile("../../../plugins/" + name + "/plugin.toml")
		if err != nil {
			t.Fatal(err)
		}
		w.Write(t, "plugins/"+name+"/plugin.toml", string(manifest))
		w.Write(t, "plugins/"+name+"/"+name+".wasm", "module of "+name)
	}
	w.Write(t, "work/.git/HEAD", "ref: refs/heads/main\n")
	w.Write(t, "work/docs/f", "")
	w.Write(t, "home/notes/memory.jsonl", "")
	w.Write(t, "home/src/.git/HEAD", "ref: refs/heads/main\n")
	o := w.Discovering()
	o.PluginsDir = w.Path("plugins")
	return w, o
}

// server recognizes an entry of a client. In its words, WORK and HOME are the directories of the workspace.
func server(t *testing.T, w *admintest.Workspace, env map[string]string, line string) *reference.Server {
	t.Helper()
	place := strings.NewReplacer("WORK", w.Path("work"), "HOME", w.Path("home"))
	for name, value := range env {
		env[name] = place.Replace(value)
	}
	words := strings.Fields(place.Replace(line))
	s := reference.Recognize(reference.Entry{Command: words[0], Args: words[1:], Env: env}, reference.System{Base: "${project}"})
	if s == nil || len(s.Left) > 0 {
		t.Fatalf("%s is not recognized: %+v", line, s)
	}
	return s
}

func TestMigrationGrantsWhatServersHad(t *testing.T) {
	w, o := references(t)
	servers := []*reference.Server{
		server(t, w, nil, "npx -y @modelcontextprotocol/server-filesystem HOME/src ~/notes"),
		server(t, w, nil, "docker run -v WORK/docs:/d:ro mcp/filesystem /d"),
		server(t, w, nil, "uvx mcp-server-git --repository HOME/src"),
		server(t, w, map[string]string{"MEMORY_FILE_PATH": "HOME/notes/memory.jsonl"}, "npx @modelcontextprotocol/server-memory"),
		server(t, w, nil, "uvx mcp-server-time --local-timezone Europe/Paris"),
		server(t, w, nil, "uvx mcp-server-fetch"),
	}
	got, err := install.ProposeMigration(o, install.Migration{Servers: servers, User: true, PublicWeb: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if len(s.Left) > 0 {
			t.Errorf("%s is left: %q", s.Plugin, s.Left)
		}
	}
	if want := w.Path("home/.config/bulkhead/bulkhead.toml"); got.Config != want || !got.Creates {
		t.Errorf("got the config %s (new: %t); want %s", got.Config, got.Creates, want)
	}
	git, err := os.ReadFile(w.Path("plugins/git/plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	access := regexp.MustCompile(`{ repo = "\*", access = "([a-z]+)" }`).FindStringSubmatch(string(git))
	if access == nil {
		t.Fatal("the plugin git does not request repositories that a config names")
	}
	for _, tool := range []string{"git_add", "git_reset", "git_commit", "git_create_branch", "git_checkout"} {
		offered := strings.Contains(string(git), `"`+tool+`"`)
		if said := strings.Contains(strings.Join(servers[2].Lost, "\n"), tool); said == offered {
			t.Errorf("the plugin offers %s: %t; got %q", tool, offered, servers[2].Lost)
		}
	}
	adds := strings.NewReplacer(w.Path("home"), "HOME", w.Path("work"), "WORK").Replace(got.Adds)
	for _, want := range []string{
		"name = \"fetch\"\nfs = []\nhttp = [\"public-web\"]",
		`{ path = "HOME/src", access = "rw" }`, `{ path = "${home}/notes", access = "rw" }`, `{ path = "WORK/docs", access = "r" }`,
		`git = [{ repo = "HOME/src", access = "` + access[1] + `" }]`, `env = { MEMORY_FILE_PATH = "HOME/notes/memory.jsonl" }`,
		`fs = [{ path = "HOME/notes", access = "rw" }]`, `env = { LOCAL_TIMEZONE = "Europe/Paris" }`,
	} {
		if !strings.Contains(adds, want) {
			t.Errorf("the config lacks %s", want)
		}
	}
	if t.Failed() {
		t.Logf("the config gets %s", adds)
	}
}

func TestMigrationOfAProjectStaysInTheProject(t *testing.T) {
	w, o := references(t)
	admintest.Symlink(t, w, "home/notes", "work/link")
	inside := []*reference.Server{
		server(t, w, nil, "npx @modelcontextprotocol/server-filesystem . WORK/docs"),
		server(t, w, nil, "uvx mcp-server-git --repository WORK"),
		server(t, w, map[string]string{"MEMORY_FILE_PATH": "WORK/docs/m.jsonl"}, "npx @modelcontextprotocol/server-memory"),
	}
	outside := []*reference.Server{
		server(t, w, nil, "npx @modelcontextprotocol/server-filesystem HOME/notes"),
		server(t, w, nil, "npx @modelcontextprotocol/server-filesystem WORK/link"),
		server(t, w, nil, "npx @modelcontextprotocol/server-filesystem ~ /"),
		server(t, w, nil, "npx @modelcontextprotocol/server-filesystem WORK/none"),
		server(t, w, nil, "uvx mcp-server-git --repository HOME/src"),
		server(t, w, map[string]string{"MEMORY_FILE_PATH": "WORK/link/memory.jsonl"}, "npx @modelcontextprotocol/server-memory"),
		server(t, w, nil, "uvx mcp-server-fetch"), // without PublicWeb
	}
	got, err := install.ProposeMigration(o, install.Migration{Servers: append(append([]*reference.Server{}, inside...), outside...)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range inside {
		if len(s.Left) > 0 {
			t.Errorf("%s is left: %q", s.Plugin, s.Left)
		}
	}
	for i, s := range outside {
		if len(s.Left) == 0 {
			t.Errorf("entry %d for %s is not left: %+v", i, s.Plugin, s.Grants)
		}
	}
	if got.Config != w.Path("work/bulkhead.toml") || inside[2].Env["MEMORY_FILE_PATH"] != w.Path("work/docs/m.jsonl") {
		t.Errorf("got the config %s, variables %q", got.Config, inside[2].Env)
	}
	for _, secret := range []string{w.Dir, "MEMORY_FILE_PATH", "m.jsonl", "notes", "public-web"} {
		if strings.Contains(got.Adds, secret) {
			t.Errorf("the config of the project has %s: %s", secret, got.Adds)
		}
	}
	for _, want := range []string{`{ path = "${project}", access = "rw" }, { path = "${project}/docs", access = "rw" }`, `repo = "${project}"`} {
		if !strings.Contains(got.Adds, want) {
			t.Errorf("the config lacks %s: %s", want, got.Adds)
		}
	}
}

// The config of a project and its trust record are in the transaction, so a host uses the config right after it.
func TestMigrationEditsConfigAndTrust(t *testing.T) {
	w, o := references(t)
	got, err := install.ProposeMigration(o, install.Migration{Servers: []*reference.Server{server(t, w, nil, "npx @modelcontextprotocol/server-filesystem WORK/docs")}})
	if err != nil {
		t.Fatal(err)
	}
	edits, err := got.Edits()
	if err != nil || len(edits) != 2 || !got.Trust.Trusted {
		t.Fatalf("got %v, %v, trust %+v", edits, err, got.Trust)
	}
	if err := (transaction.Log{Dir: w.Path("journal")}).Apply(edits); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(edits[1].Path, 0o600); err != nil { // the caller's part
		t.Fatal(err)
	}
	again, err := install.ProposeSetup(o, install.Preparation{Plugins: []string{"filesystem"}}) // refuses a config that is not trusted
	if err != nil || again.Adds != "" || !again.Plugins[0].InConfig {
		t.Errorf("got %+v, %v", again, err)
	}
}

func TestMigrationLeavesWhatAnExistingTableDoesNotGrant(t *testing.T) {
	w, o := references(t)
	w.Write(t, "home/.config/bulkhead/bulkhead.toml", "[[plugins]]\nname = \"filesystem\"\nfs = [{ path = \"${home}/notes\", access = \"r\" }]\n")
	servers := []*reference.Server{
		server(t, w, nil, "docker run -v HOME/notes:/n:ro mcp/filesystem /n"),
		server(t, w, nil, "npx @modelcontextprotocol/server-filesystem ~/notes"),
		server(t, w, nil, "npx @modelcontextprotocol/server-filesystem ~/src"),
	}
	got, err := install.ProposeMigration(o, install.Migration{Servers: servers, User: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Adds != "" || len(servers[0].Left) > 0 {
		t.Errorf("a server whose grants exist is left: %q, adds %q", servers[0].Left, got.Adds)
	}
	for _, s := range servers[1:] {
		if len(s.Left) != 1 || !strings.Contains(s.Left[0], "add fs = [{ path = ") {
			t.Errorf("got %q", s.Left)
		}
	}
}

func TestMigrationOfTwoServersOfOnePlugin(t *testing.T) {
	w, o := references(t)
	servers := []*reference.Server{
		server(t, w, nil, "uvx mcp-server-time --local-timezone Europe/Paris"),
		server(t, w, nil, "uvx mcp-server-time --local-timezone=Europe/Paris"),
		server(t, w, nil, "uvx mcp-server-time --local-timezone Asia/Tokyo"),
	}
	if _, err := install.ProposeMigration(o, install.Migration{Servers: servers, User: true}); err != nil {
		t.Fatal(err)
	}
	if len(servers[0].Left)+len(servers[1].Left) > 0 || len(servers[2].Left) == 0 || strings.Contains(servers[2].Left[0], "Tokyo") {
		t.Errorf("got %q, %q, %q", servers[0].Left, servers[1].Left, servers[2].Left)
	}
}

func TestMigrationToANamedConfig(t *testing.T) {
	w, o := references(t)
	w.Write(t, "home/own.toml", "")
	o.ConfigFile = w.Path("home/own.toml")
	s := server(t, w, nil, "uvx mcp-server-time --local-timezone Europe/Paris")
	got, err := install.ProposeMigration(o, install.Migration{Servers: []*reference.Server{s}, User: true})
	if err != nil || got.Config != o.ConfigFile || got.Creates || !strings.Contains(got.Adds, `name = "time"`) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if edits, err := got.Edits(); err != nil || len(edits) != 1 || edits[0].Path != o.ConfigFile {
		t.Errorf("got %+v, %v", edits, err)
	}
}
