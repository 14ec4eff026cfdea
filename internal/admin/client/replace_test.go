package client

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// replaceFiles are files of clients with reference servers, by the client's name. HOME is the home directory.
var replaceFiles = map[string]string{
	"claude-code": `{
  "numStartups": 3,
  "mcpServers": {
    "filesystem": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/src"],
      "env": {}
    },
    "github": {"command": "gh-mcp", "env": {"TOKEN": "hunter2"}}
  }
}
`,
	"claude-desktop": `{"mcpServers": {"other": {"command": "x"}, "filesystem": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "HOME/src"]}}}`,
	"cursor": `{
	"mcpServers": {
		"filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${userHome}/src"], "autoApprove": ["read_file"] },
	},
}
`,
	"vscode": `{
  // servers of mine
  "inputs": [{"id": "token", "type": "promptString"}],
  "servers": {
    "filesystem": { // files
      "command": "docker",
      "args": ["run", "-i", "--rm", "--mount", "type=bind,src=${env:HOME}/src,dst=/w", "mcp/filesystem", "/w"], /* all */
    },
    "other": {"type": "http", "url": "https://x.example", "headers": {"A": "${input:token}"}},
  },
}
`,
	"codex": `model = "x"

# my files
[mcp_servers.filesystem]
command = "npx" # from npm
args = ["-y", "@modelcontextprotocol/server-filesystem", "HOME/src"]
startup_timeout_sec = 20

[mcp_servers.filesystem.env]
PATH = "/usr/bin"

[mcp_servers.other]
command = "y"
`,
	"zed":      `{"context_servers": {"filesystem": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "HOME/src"], "env": {}}}, "theme": "x"}` + "\n",
	"windsurf": `{"mcpServers": {"filesystem": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "${env:HOME}/src"], "disabled": false}}}` + "\n",
	"gemini":   `{"mcpServers": {"filesystem": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "$HOME/src"], "timeout": 5000, "trust": true}}}` + "\n",
	"opencode": `{
  "mcp": {
    "filesystem": {"type": "local", "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "{env:HOME}/src"], "enabled": true, "environment": {"NODE_ENV": "x"}}
  }
}
`,
}

// userFile writes the file of a client from replaceFiles, and returns its path.
func (u *user) userFile(c *Client) (path, content string) {
	u.t.Helper()
	path, err := c.file(u.System, UserScope, DefaultName)
	if err != nil {
		u.t.Fatal(err)
	}
	content = strings.ReplaceAll(replaceFiles[c.ID], `"HOME/`, `"`+u.Home+`/`)
	u.put(strings.TrimPrefix(path, u.root+"/"), content)
	return path, content
}

// replace replaces all reference servers in the user's file of a client.
func (u *user) replace(c *Client) *Change {
	u.t.Helper()
	o := Options{Scope: UserScope, Name: DefaultName}
	found, err := References(c, u.System, o)
	if err != nil {
		u.t.Fatal(err)
	}
	var names []string
	for _, r := range found {
		if len(r.Left) > 0 || len(r.FS) != 1 {
			u.t.Errorf("%s: got %+v, left %q", c.ID, r.FS, r.Left)
		}
		names = append(names, r.Name)
	}
	change, err := Replace(c, u.System, o, names)
	if err != nil {
		u.t.Fatal(err)
	}
	if err := change.Apply(u.t.Context()); err != nil {
		u.t.Fatal(err)
	}
	return change
}

func TestReplacedEntriesComeBack(t *testing.T) {
	for _, c := range clients {
		t.Run(c.ID, func(t *testing.T) {
			u := newUser(t)
			path, before := u.userFile(c)
			change := u.replace(c)
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(after); strings.Contains(text, "server-filesystem") || strings.Contains(text, "mcp/filesystem") || !strings.Contains(text, "bin/bulkhead") {
				t.Errorf("got %s", text)
			}
			if !change.Changed || !slices.Equal(change.Replaces, []string{"filesystem"}) || change.Backup == "" {
				t.Errorf("got %+v", change)
			}
			if diff := strings.Join(change.Diff, "\n"); strings.Contains(diff, "/src") || strings.Contains(diff, "hunter2") {
				t.Errorf("the difference shows arguments of another program: %s", diff)
			}
			removed := u.run(Remove, c.ID, Options{})
			if diff := strings.Join(removed.Diff, "\n"); !strings.Contains(diff, "filesystem") || strings.Contains(diff, "/src") {
				t.Errorf("the difference does not show what comes back, or its arguments: %s", diff)
			}
			restored, err := os.ReadFile(path)
			if err != nil || string(restored) != before || !slices.Equal(removed.Restores, []string{"filesystem"}) {
				t.Errorf("got %v, %q\n%s\nwant\n%s", err, removed.Restores, restored, before)
			}
			if again, err := Remove(c, u.System, Options{Scope: UserScope, Name: DefaultName}); err != nil || again.Action != ActionNone {
				t.Errorf("a second removal: %+v, %v", again, err)
			}
			if left, _ := os.ReadDir(u.State + "/.clients"); slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "replaced-") }) {
				t.Error("the record is left")
			}
		})
	}
}

func TestReplacedEntriesComeBackIntoAChangedFile(t *testing.T) {
	for _, c := range clients {
		t.Run(c.ID, func(t *testing.T) {
			u := newUser(t)
			path, before := u.userFile(c)
			doc, err := c.format.decode(path, []byte(before))
			if err != nil {
				t.Fatal(err)
			}
			entry := append(c.at(doc), "filesystem")
			want, err := c.format.copy(nil, []byte(before), entry)
			if err != nil {
				t.Fatal(err)
			}
			u.replace(c)
			data, err := os.ReadFile(path)
			if err == nil {
				data, err = c.format.set(data, append(c.at(doc), "added"), c.fields(Entry{Command: "z"}))
			}
			if err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			u.run(Remove, c.ID, Options{})
			restored, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.format.copy(nil, restored, entry)
			if err != nil || string(got) != string(want) {
				t.Errorf("got %v %q\nwant %q", err, got, want)
			}
			if doc, err := c.format.decode(path, restored); err != nil || c.servers(doc)["added"] == nil || c.servers(doc)[DefaultName] != nil {
				t.Errorf("got %v\n%s", err, restored)
			}
		})
	}
}

func TestReplacedEntryDoesNotOverwriteANewOne(t *testing.T) {
	u := newUser(t)
	c, _ := Find("claude-desktop")
	path, _ := u.userFile(c)
	u.replace(c)
	data, _ := os.ReadFile(path)
	data, err := jsonfile.Set(data, []string{"mcpServers", "filesystem"}, jsonfile.Object{{Name: "command", Value: "mine"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	removed := u.run(Remove, c.ID, Options{})
	if got, _ := os.ReadFile(path); !strings.Contains(string(got), `"mine"`) || len(removed.Restores) > 0 || len(removed.Notes) == 0 {
		t.Errorf("got %s, %+v", got, removed)
	}
}

func TestReferencesLeaveFieldsThatAreNotKnown(t *testing.T) {
	for field, want := range map[string]string{
		`"disabled": true`:            "it is disabled",
		`"enabled": false`:            "it is disabled",
		`"envFile": "${x}/.env"`:      "its field envFile has no counterpart",
		`"\u001b[2Jx": 1`:             `its field "\x1b[2Jx" has no counterpart`,
		`"env": ["A"]`:                "its env is not a table of strings",
		`"env": {"TOKEN": "hunter2"}`: "the variable TOKEN has no counterpart: remove it from the entry if the server does not need it",
	} {
		u := newUser(t)
		u.put("app/.mcp.json", `{"mcpServers": {"f": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "."], `+field+`}}}`)
		c, _ := Find("claude-code")
		found, err := References(c, u.System, Options{Scope: ProjectScope, Name: DefaultName})
		if err != nil || len(found) != 1 || !slices.Equal(found[0].Left, []string{want}) {
			t.Errorf("%s: got %v, %v", field, found, err)
			if len(found) == 1 {
				t.Logf("left: %q", found[0].Left)
			}
		}
	}
}

// Each Replace of a file is undone by one Remove, whatever came between them.
func TestRemoveUndoesEveryReplacement(t *testing.T) {
	const second = `{"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "/tmp"]}`
	for name, between := range map[string]func(u *user){
		"nothing": func(*user) {},
		"add without replace": func(u *user) {
			u.run(Add, "claude-desktop", Options{Serve: Serve{Project: "/srv/app"}})
		},
		"add under another name": func(u *user) {
			u.run(Add, "claude-desktop", Options{Name: "elsewhere"})
			u.run(Remove, "claude-desktop", Options{Name: "elsewhere"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			c, _ := Find("claude-desktop")
			path, before := u.userFile(c)
			if first := u.replace(c); !slices.Equal(first.Replaces, []string{"filesystem"}) {
				t.Fatalf("got %+v", first)
			}
			between(u)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			with := strings.Replace(string(data), `"mcpServers": {`, `"mcpServers": {"second": `+second+`, `, 1)
			if err := os.WriteFile(path, []byte(with), 0o600); err != nil {
				t.Fatal(err)
			}
			if again := u.replace(c); !slices.Equal(again.Replaces, []string{"second"}) {
				t.Fatalf("got %+v", again)
			}
			removed := u.run(Remove, c.ID, Options{})
			if !slices.Equal(removed.Restores, []string{"second", "filesystem"}) || len(removed.Notes) > 0 {
				t.Errorf("got %+v", removed)
			}
			restored, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := jsonfile.Set([]byte(before), []string{"mcpServers", "second"}, jsonfile.Object{{Name: "command", Value: "npx"}, {Name: "args", Value: []string{"@modelcontextprotocol/server-filesystem", "/tmp"}}})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := jsonfile.Decode(restored)
			expected, _ := jsonfile.Decode(want)
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestReplaceRefusesWhileAnotherProcessDoes(t *testing.T) {
	u := newUser(t)
	c, _ := Find("zed")
	path, before := u.userFile(c)
	change, err := Replace(c, u.System, Options{Scope: UserScope, Name: DefaultName}, []string{"filesystem"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.recover(func(transaction.Log) error { return ApplyAll(u.System, []*Change{change}, nil) })
	if got, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), "another bulkhead") || string(got) != before || change.Changed {
		t.Errorf("got %v\n%s", err, got)
	}
	if err := change.Apply(t.Context()); err != nil || !change.Changed {
		t.Errorf("after the other process has ended: %v", err)
	}
}

func TestReplaceRefusesAFileThatHasChanged(t *testing.T) {
	u := newUser(t)
	c, _ := Find("zed")
	path, before := u.userFile(c)
	change, err := Replace(c, u.System, Options{Scope: UserScope, Name: DefaultName}, []string{"filesystem"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(before+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := change.Apply(t.Context()); !errors.Is(err, transaction.ErrChanged) || change.Changed || u.exists(change.record.Path) {
		t.Errorf("got %v, record: %t", err, u.exists(change.record.Path))
	}
}

func TestRecordOfReplacedEntriesIsExamined(t *testing.T) {
	u := newUser(t)
	c, _ := Find("zed")
	path, _ := u.userFile(c)
	record := u.replace(c).record.Path
	after, _ := os.ReadFile(path)
	if err := os.WriteFile(record, []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(c, u.System, Options{Scope: UserScope, Name: DefaultName}); err == nil || !strings.Contains(err.Error(), record) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a record that is not JSON: got %v", err)
	}
	if err := os.Chmod(filepath.Dir(record), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(c, u.System, Options{Scope: UserScope, Name: DefaultName}); err == nil {
		t.Error("a record in a directory that others can write is used")
	}
	if got, _ := os.ReadFile(path); string(got) != string(after) {
		t.Errorf("the file was changed: %s", got)
	}
}

// After a process was killed at any operation, the client's file, the config and the record are all old or all new.
func TestReplacementSurvivesAKill(t *testing.T) {
	for _, mode := range []faultfs.Mode{faultfs.KillBefore, faultfs.KillDuring, faultfs.KillAfter} {
		runs := 0
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			runs++
			u := newUser(t)
			c, _ := Find("zed")
			path, before := u.userFile(c)
			change, err := Replace(c, u.System, Options{Scope: UserScope, Name: DefaultName}, []string{"filesystem"})
			if err != nil {
				t.Fatal(err)
			}
			killed := u.System
			killed.files = f
			config := filepath.Join(u.Home, ".config/bulkhead/bulkhead.toml")
			err = ApplyAll(killed, []*Change{change}, []transaction.Change{{Root: filepath.Dir(config), Path: config, After: []byte("new")}})
			if !f.Reached() && err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			interrupted, err := IsInterrupted(u.System)
			if err != nil {
				t.Fatal(err)
			}
			if report, err := Recover(u.System); err != nil || (report.Outcome != transaction.Nothing) != interrupted || len(report.Kept) > 0 {
				t.Fatalf("%s at %d: %+v, %v; interrupted: %t", mode, f.At, report, err, interrupted)
			}
			if again, err := IsInterrupted(u.System); again || err != nil {
				t.Fatalf("%s at %d: still interrupted, %v", mode, f.At, err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			isNew := string(data) != before
			if !f.Reached() && !isNew {
				t.Fatal("without a fault, nothing has changed")
			}
			if isNew && string(data) != string(change.content) {
				t.Fatalf("%s at %d: got %s", mode, f.At, data)
			}
			if u.exists(config) != isNew || u.exists(change.record.Path) != isNew {
				t.Fatalf("%s at %d: the client's file is new: %t; config: %t; record: %t", mode, f.At, isNew, u.exists(config), u.exists(change.record.Path))
			}
			for _, private := range []string{config, change.record.Path} {
				if info, err := os.Stat(private); err == nil && info.Mode().Perm() != 0o600 {
					t.Errorf("%s has the mode %v", private, info.Mode())
				}
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(left) != 1 {
				t.Errorf("%s at %d: left %v, %v", mode, f.At, left, err)
			}
		})
		if runs < 10 {
			t.Errorf("%s: only %d runs", mode, runs)
		}
	}
}
