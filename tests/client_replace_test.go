//go:build unix

package tests

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tailscale/hujson"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// replaceFiles are the files of clients below the home directory, with entries of reference servers. HOME is the home directory.
var replaceFiles = map[string]struct{ file, content string }{
	"claude-code": {".claude.json", `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/src"]}}}`},
	"claude-desktop": {".config/Claude/claude_desktop_config.json", `{
  "mcpServers": {
    "files": {
      "command": "docker",
      "args": ["run", "-i", "--rm", "--mount", "type=bind,src=HOME/src,dst=/projects/src", "mcp/filesystem", "/projects"]
    }
  }
}`},
	"cursor":   {".cursor/mcp.json", `{"mcpServers": {"files": {"command": "bunx", "args": ["@modelcontextprotocol/server-filesystem", "${userHome}/src"]}}}`},
	"vscode":   {".config/Code/User/mcp.json", "{\n\t// mine\n\t\"servers\": {\n\t\t\"files\": {\"command\": \"npx\", \"args\": [\"@modelcontextprotocol/server-filesystem\", \"${env:HOME}/src\"],},\n\t},\n}\n"},
	"codex":    {".codex/config.toml", "# mine\n[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"@modelcontextprotocol/server-filesystem@2026.8.31\", \"HOME/src\"]\n"},
	"zed":      {".config/zed/settings.json", `{"context_servers": {"files": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "~/src"]}}}`},
	"windsurf": {".codeium/windsurf/mcp_config.json", `{"mcpServers": {"files": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "${env:HOME}/src"]}}}`},
	"gemini":   {".gemini/settings.json", `{"mcpServers": {"files": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "$HOME/src"]}}}`},
	"opencode": {".config/opencode/opencode.json", `{"mcp": {"files": {"type": "local", "command": ["npx", "@modelcontextprotocol/server-filesystem", "{env:HOME}/src"]}}}`},
}

// replacer runs the program for a user whose client has entries of reference servers.
type replacer struct {
	t                    *testing.T
	home, project, state string
	path, content        string // the file of the client
}

// newReplacer writes the file of a client, which is relative to root. HOME and PROJECT in content are directories.
func newReplacer(t *testing.T, inProject bool, file, content string) *replacer {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &replacer{t: t, home: filepath.Join(root, "home"), project: filepath.Join(root, "app"), state: filepath.Join(root, "state")}
	for _, dir := range []string{r.state, filepath.Join(r.home, "src"), filepath.Join(r.project, "notes"), filepath.Join(r.project, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.content = strings.NewReplacer(`"HOME/`, `"`+r.home+`/`, `src=HOME/`, `src=`+r.home+`/`, `PROJECT/`, r.project+`/`).Replace(content)
	if r.path = filepath.Join(r.home, file); inProject {
		r.path = filepath.Join(r.project, file)
	}
	putFile(t, r.path, r.content)
	return r
}

// run runs the program in the project.
func (r *replacer) run(args ...string) (string, error) {
	r.t.Helper()
	cmd := programCommand(r.t, args...)
	cmd.Dir, cmd.Env = r.project, append(cmd.Env, "HOME="+r.home, "XDG_STATE_HOME="+r.state)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustRun is run for a command that must succeed and print want.
func (r *replacer) mustRun(want string, args ...string) string {
	r.t.Helper()
	out, err := r.run(args...)
	if err != nil || !strings.Contains(out, want) {
		r.t.Fatalf("bulkhead %s: %v, want %q in\n%s", strings.Join(args, " "), err, want, out)
	}
	return out
}

// A client's reference server becomes a plugin that may use the same directory, and comes back.
func TestClientsReferenceServersAreReplaced(t *testing.T) {
	t.Parallel()
	for id, c := range replaceFiles {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r := newReplacer(t, false, c.file, c.content)
			add := []string{"client", "add", id, "--replace", "--plugins", built.plugins(t)}
			if out, err := r.run(add...); err == nil || !strings.Contains(out, "cannot ask for consent") {
				t.Errorf("without a terminal: %v\n%s", err, out)
			}
			r.mustRun("Nothing was changed.", append(add, "--dry-run")...)
			if files, err := os.ReadDir(r.state); err != nil || len(files) > 0 || readFile(t, r.path) != r.content {
				t.Errorf("a dry run has changed files: %v, %v", err, files)
			}
			r.mustRun("Replaced files in", append(add, "--yes")...)
			if after := readFile(t, r.path); strings.Contains(after, "server-filesystem") || strings.Contains(after, "mcp/filesystem") || !strings.Contains(after, "serve") {
				t.Errorf("got %s", after)
			}
			r.mustRun(filepath.Join(r.home, "src"), "call", "list_allowed_directories", "--plugins", built.plugins(t))
			r.mustRun("back    files", "client", "remove", id, "--yes")
			if restored := readFile(t, r.path); restored != r.content {
				t.Errorf("got\n%s\nwant\n%s", restored, r.content)
			}
		})
	}
}

// Clients whose files cannot be changed are left out, with what their entries would have been granted; the others are changed.
func TestInvalidFilesDoNotStopReplacement(t *testing.T) {
	t.Parallel()
	c := replaceFiles["cursor"]
	r := newReplacer(t, false, c.file, c.content)
	inline := filepath.Join(r.home, ".codex/config.toml")
	others := map[string]string{
		filepath.Join(r.home, ".config/zed/settings.json"): "{",
		inline: `mcp_servers = { files = { command = "npx", args = ["-y", "@modelcontextprotocol/server-filesystem", "` + r.project + `/notes"] } }` + "\n",
	}
	for file, content := range others {
		putFile(t, file, content)
	}
	add := []string{"client", "add", "zed", "codex", "cursor", "--replace", "--plugins", built.plugins(t), "--yes"}
	for _, args := range [][]string{append(add, "--dry-run", "--json"), add} {
		out, err := r.run(args...)
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 || !containsAll(out, "bulkhead: "+r.home+"/.config/zed/settings.json:2: ", "bulkhead: "+inline) {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		if slices.Contains(args, "--json") != strings.Contains(out, `"errors": [`) {
			t.Errorf("got %s", out)
		}
	}
	if after := readFile(t, r.path); strings.Contains(after, "server-filesystem") || !strings.Contains(after, "serve") {
		t.Errorf("got %s", after)
	}
	for file, content := range others {
		if got := readFile(t, file); got != content {
			t.Errorf("%s was changed to %s", file, got)
		}
	}
	config, err := filepath.Glob(filepath.Join(r.home, ".config/bulkhead/*.toml"))
	if err != nil || len(config) != 1 {
		t.Fatalf("the configs are %q, %v", config, err)
	}
	if text := readFile(t, config[0]); !strings.Contains(text, "/src") || strings.Contains(text, "notes") {
		t.Errorf("the config is\n%s", text)
	}
}

// The entries of a project's file become plugins in the project's config, which contains no value of a variable. An entry for a directory
// outside of the project is left.
func TestProjectsReferenceServersAreReplaced(t *testing.T) {
	t.Parallel()
	for id, c := range map[string]struct{ file, content, memory string }{
		"claude-code": {".mcp.json", `{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
  "outside": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "HOME/src"]},
  "notes": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "PROJECT/notes/graph.jsonl"}}
}}
`, "PROJECT/notes/graph.jsonl"},
		"vscode": {".vscode/mcp.json", `{
  "servers": {
    // files of the project
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${workspaceFolder}"]},
    "outside": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${userHome}/src"]},
    "notes": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "${workspaceFolder}/notes/graph.jsonl"}},
  },
}
`, "${workspaceFolder}/notes/graph.jsonl"},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r := newReplacer(t, true, c.file, c.content)
			out := r.mustRun("outside (@modelcontextprotocol/server-filesystem) is left:", "client", "add", id, "--replace", "--scope", "project", "--yes", "--plugins", built.plugins(t))
			if !strings.Contains(out, "is not in the project") {
				t.Errorf("got %s", out)
			}
			config := readFile(t, filepath.Join(r.project, "bulkhead.toml"))
			if !containsAll(config, `fs = [{ path = "${project}", access = "rw" }]`, `fs = [{ path = "${project}/notes", access = "rw" }]`) {
				t.Errorf("got the config\n%s", config)
			}
			for _, private := range []string{r.home, r.project, "graph.jsonl", "MEMORY_FILE_PATH"} {
				if strings.Contains(config, private) {
					t.Errorf("the config of the project contains %s:\n%s", private, config)
				}
			}
			var doc map[string]map[string]struct {
				Command string
				Args    []string
			}
			data, err := hujson.Standardize([]byte(readFile(t, r.path)))
			if err == nil {
				err = json.Unmarshal(data, &doc)
			}
			entries := doc["mcpServers"]
			if entries == nil {
				entries = doc["servers"]
			}
			if err != nil || len(entries) != 2 || len(entries["outside"].Args) != 3 {
				t.Fatalf("got %v, %+v", err, doc)
			}
			entry := entries["bulkhead"]
			if want := "MEMORY_FILE_PATH=" + strings.ReplaceAll(c.memory, "PROJECT", r.project); !slices.Contains(entry.Args, want) {
				t.Errorf("got %q, want %q in it", entry.Args, want)
			}
			for i, arg := range entry.Args { // as the client does
				entry.Args[i] = strings.ReplaceAll(arg, "${workspaceFolder}", r.project)
			}
			server := exec.Command(entry.Command, entry.Args...)
			server.Dir, server.Env = r.project, append(environment(t), "HOME="+r.home, "XDG_STATE_HOME="+r.state)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			client := pluginsClient{session, t}
			client.mustCall("create_entities", map[string]any{"entities": []map[string]any{{"name": "oak", "entityType": "tree", "observations": []string{"is tall"}}}}, nil)
			if graph := readFile(t, filepath.Join(r.project, "notes/graph.jsonl")); !strings.Contains(graph, "is tall") {
				t.Errorf("got the graph %s", graph)
			}
			if text := client.mustCall("read_text_file", map[string]any{"path": filepath.Join(r.project, "notes/graph.jsonl")}, nil); !strings.Contains(text, "is tall") {
				t.Errorf("got %s", text)
			}
			r.mustRun("back    files, notes", "client", "remove", id, "--scope", "project", "--yes")
			if restored := readFile(t, r.path); restored != r.content {
				t.Errorf("got\n%s\nwant\n%s", restored, r.content)
			}
		})
	}
}

// A dry run changes nothing of what an interrupted run has left, and says so. The next run ends it.
func TestDryRunReportsAnInterruptedReplacement(t *testing.T) {
	t.Parallel()
	c := replaceFiles["zed"]
	r := newReplacer(t, false, c.file, c.content)
	log := transaction.Log{Dir: filepath.Join(r.state, "bulkhead", ".clients", "transaction"), Prefix: ".bulkhead-"}
	if err := os.MkdirAll(filepath.Dir(log.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	change := transaction.Change{Root: filepath.Dir(r.path), Path: r.path, Before: transaction.Digest([]byte(r.content)), After: []byte("{}\n")}
	other := transaction.Change{Root: r.state, Path: filepath.Join(r.state, "other"), After: []byte("x")}
	for at := 1; readFile(t, r.path) == r.content; at++ { // killed after the first file was switched
		killed := log
		killed.FS = &faultfs.FS{FS: filesystem.OS{}, Mode: faultfs.KillAfter, At: at}
		if err := killed.Apply([]transaction.Change{change, other}); err == nil {
			t.Fatal("no operation was killed after the first file was switched")
		}
		if readFile(t, r.path) == r.content {
			if _, err := log.Recover(); err != nil {
				t.Fatal(err)
			}
		}
	}
	add := []string{"client", "add", "zed", "--replace", "--plugins", built.plugins(t)}
	before := snapshot(t, filepath.Dir(r.home))
	r.mustRun("an earlier change of clients was interrupted", append(add, "--dry-run")...)
	if diff := cmp.Diff(before, snapshot(t, filepath.Dir(r.home))); diff != "" {
		t.Errorf("a dry run has changed files (-before +after)\n%s", diff)
	}
	out := r.mustRun("is now undone", append(add, "--yes")...)
	if !strings.Contains(out, "Replaced files in") {
		t.Errorf("got %s", out)
	}
	r.mustRun("back    files", "client", "remove", "zed", "--yes")
	if restored := readFile(t, r.path); restored != r.content {
		t.Errorf("got\n%s\nwant\n%s", restored, r.content)
	}
}
