package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// user is the system of a test: a home directory, a project and a program in one temporary directory.
type user struct {
	System
	t    *testing.T
	root string
	env  map[string]string
}

func newUser(t *testing.T) *user {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o700); err != nil { // the state directory must be private, and the umask may be permissive
		t.Fatal(err)
	}
	u := &user{t: t, root: root, env: map[string]string{}}
	u.System = System{
		OS: "linux", Home: root + "/home", Project: root + "/app", State: root + "/state", Program: root + "/bin/bulkhead",
		Getenv:   func(name string) string { return u.env[name] },
		LookPath: func(string) (string, error) { return "", fs.ErrNotExist },
	}
	u.put("bin/bulkhead", "program")
	u.put("home/keep", "")
	u.put("app/keep", "")
	return u
}

func (u *user) put(name, text string) string {
	u.t.Helper()
	path := filepath.Join(u.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		u.t.Fatal(err)
	}
	return path
}

func (u *user) read(name string) string {
	u.t.Helper()
	data, err := os.ReadFile(filepath.Join(u.root, name))
	if err != nil {
		u.t.Fatal(err)
	}
	return string(data)
}

// place replaces the path of the test's directory with ROOT, for comparison.
func (u *user) place(text string) string { return strings.ReplaceAll(text, u.root, "ROOT") }

type planner = func(*Client, System, Options) (*Change, error)

// run plans and applies a change.
func (u *user) run(plan planner, id string, o Options) *Change {
	u.t.Helper()
	change, err := u.try(plan, id, o)
	if err != nil {
		u.t.Fatal(err)
	}
	if err := change.Apply(u.t.Context()); err != nil {
		u.t.Fatal(err)
	}
	return change
}

func (u *user) try(plan planner, id string, o Options) (*Change, error) {
	u.t.Helper()
	c, err := Find(id)
	if err != nil {
		u.t.Fatal(err)
	}
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Scope == "" {
		o.Scope = UserScope
	}
	return plan(c, u.System, o)
}

// places are the files of all clients on Linux and macOS (onWindows has those on Windows), and what Add writes there.
var places = []struct {
	id            string
	linux, mac    string // path of the user's file, relative to the home directory
	project       string // path of the project's file, relative to the project; empty if not supported
	entry, inProj string // content of a new file of the user and of the project, after Add
}{
	{"claude-code", ".claude.json", ".claude.json", ".mcp.json",
		`{"mcpServers":{"bulkhead":{"type":"stdio","command":"ROOT/bin/bulkhead","args":["serve"]}}}`, ""},
	{"claude-desktop", ".config/Claude/claude_desktop_config.json", "Library/Application Support/Claude/claude_desktop_config.json", "",
		`{"mcpServers":{"bulkhead":{"command":"ROOT/bin/bulkhead","args":["serve"]}}}`, ""},
	{"cursor", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json",
		`{"mcpServers":{"bulkhead":{"type":"stdio","command":"ROOT/bin/bulkhead","args":["serve"]}}}`,
		`{"mcpServers":{"bulkhead":{"type":"stdio","command":"ROOT/bin/bulkhead","args":["serve","--project","${workspaceFolder}"]}}}`},
	{"vscode", ".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json", ".vscode/mcp.json",
		`{"servers":{"bulkhead":{"type":"stdio","command":"ROOT/bin/bulkhead","args":["serve"]}}}`,
		`{"servers":{"bulkhead":{"type":"stdio","command":"ROOT/bin/bulkhead","args":["serve","--project","${workspaceFolder}"]}}}`},
	{"codex", ".codex/config.toml", ".codex/config.toml", ".codex/config.toml",
		"[mcp_servers.bulkhead]command = \"ROOT/bin/bulkhead\"args = [\"serve\"]", ""},
	{"zed", ".config/zed/settings.json", ".config/zed/settings.json", ".zed/settings.json",
		`{"context_servers":{"bulkhead":{"command":"ROOT/bin/bulkhead","args":["serve"]}}}`, ""},
	{"windsurf", ".config/devin/mcp_config.json", ".config/devin/mcp_config.json", ".devin/mcp_config.json",
		`{"mcpServers":{"bulkhead":{"command":"ROOT/bin/bulkhead","args":["serve"]}}}`,
		`{"mcpServers":{"bulkhead":{"command":"ROOT/bin/bulkhead","args":["serve","--project","ROOT/app"]}}}`},
	{"gemini", ".gemini/settings.json", ".gemini/settings.json", ".gemini/settings.json",
		`{"mcpServers":{"bulkhead":{"command":"ROOT/bin/bulkhead","args":["serve"]}}}`, ""},
	{"opencode", ".config/opencode/opencode.json", ".config/opencode/opencode.json", "opencode.json",
		`{"mcp":{"bulkhead":{"type":"local","command":["ROOT/bin/bulkhead","serve"]}}}`, ""},
}

// onWindows returns the file of a client on Windows: desktop applications have theirs in %APPDATA%.
func onWindows(linux string) string {
	for from, to := range map[string]string{"Claude": "Claude", "Code": "Code", "zed": "Zed"} {
		if below, ok := strings.CutPrefix(linux, ".config/"+from+"/"); ok {
			return "AppData/Roaming/" + to + "/" + below
		}
	}
	return linux
}

func TestAddCreatesFileOfEachClient(t *testing.T) {
	if len(places) != len(clients) {
		t.Fatalf("%d places for %d clients", len(places), len(clients))
	}
	compact := strings.NewReplacer("\n", "", "  ", "", `": `, `":`, `", "`, `","`)
	for _, p := range places {
		for goos, file := range map[string]string{"linux": p.linux, "darwin": p.mac, "windows": onWindows(p.linux)} {
			u := newUser(t)
			u.OS = goos
			change := u.run(Add, p.id, Options{})
			if got := compact.Replace(u.place(u.read("home/" + file))); got != strings.ReplaceAll(p.entry, "\n", "") {
				t.Errorf("%s on %s: got %s", p.id, goos, got)
			}
			if info, err := os.Stat(change.File); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: the new file does not have the mode 0600: %v %v", p.id, info, err)
			}
			if !change.Creates || change.Action != ActionAdd || change.Next == "" || change.Backup != "" {
				t.Errorf("%s: Add returned %+v, want the creation of a file, the next step and no backup", p.id, change)
			}
		}
		u := newUser(t)
		if p.project == "" {
			if _, err := u.try(Add, p.id, Options{Scope: ProjectScope}); err == nil || !strings.Contains(err.Error(), "does not support a configuration for each project") {
				t.Errorf("%s in a project: %v", p.id, err)
			}
			continue
		}
		if p.inProj == "" {
			p.inProj = p.entry
		}
		u.run(Add, p.id, Options{Scope: ProjectScope})
		if got := compact.Replace(u.place(u.read("app/" + p.project))); got != p.inProj {
			t.Errorf("%s in a project: got %s", p.id, got)
		}
	}
}

func TestFilesFollowVariablesAndWhatExists(t *testing.T) {
	u := newUser(t)
	u.env = map[string]string{"CLAUDE_CONFIG_DIR": u.root + "/cc", "CODEX_HOME": u.root + "/cx", "XDG_CONFIG_HOME": u.root + "/xdg", "APPDATA": "relative"}
	u.put("home/.codeium/windsurf/x", "")
	u.put("xdg/opencode/opencode.jsonc", "{}")
	for id, want := range map[string]string{
		"claude-code": "cc/.claude.json", "codex": "cx/config.toml", "zed": "xdg/zed/settings.json", "vscode": "xdg/Code/User/mcp.json",
		"windsurf": "home/.codeium/windsurf/mcp_config.json", "opencode": "xdg/opencode/opencode.jsonc",
	} {
		change, err := u.try(Add, id, Options{})
		if err != nil || u.place(change.File) != "ROOT/"+want {
			t.Errorf("%s: %+v %v, want %s", id, change, err, want)
		}
	}
	u.put("xdg/devin/x", "")
	u.put("xdg/opencode/opencode.json", "{}")
	u.put("xdg/opencode/opencode.jsonc", `{"mcp": {"mine": {}}}`)
	for id, o := range map[string]struct{ name, want string }{
		"windsurf": {DefaultName, "xdg/devin/mcp_config.json"}, "opencode": {"mine", "xdg/opencode/opencode.jsonc"}, "zed": {DefaultName, "xdg/zed/settings.json"},
	} {
		c, _ := Find(id)
		if path, err := c.file(u.System, UserScope, o.name); err != nil || u.place(path) != "ROOT/"+o.want {
			t.Errorf("%s: %s %v, want %s", id, path, err, o.want)
		}
	}
	c, _ := Find("opencode")
	if path, err := c.file(u.System, UserScope, DefaultName); err != nil || u.place(path) != "ROOT/xdg/opencode/opencode.json" {
		t.Errorf("the file of opencode without any entry: got %s %v", path, err)
	}
}

// TestAddAndRemoveKeepRestOfFile adds an entry to each file of testdata, compares it with the file's .want, and removes it again.
func TestAddAndRemoveKeepRestOfFile(t *testing.T) {
	tests := []struct{ id, file, name string }{
		{"claude-desktop", ".config/Claude/claude_desktop_config.json", "claude_desktop_config.json"},
		{"claude-code", ".claude.json", "claude.json"},
		{"cursor", ".cursor/mcp.json", "cursor.json"},
		{"vscode", ".config/Code/User/mcp.json", "vscode.json"},
		{"codex", ".codex/config.toml", "codex.toml"},
		{"zed", ".config/zed/settings.json", "zed.json"},
		{"windsurf", ".codeium/windsurf/mcp_config.json", "windsurf.json"},
		{"gemini", ".gemini/settings.json", "gemini.json"},
		{"opencode", ".config/opencode/opencode.jsonc", "opencode.jsonc"},
		{"opencode", ".config/opencode/opencode.jsonc", "opencode-2.jsonc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, err := os.ReadFile("testdata/" + test.name)
			if err != nil {
				t.Fatal(err)
			}
			u := newUser(t)
			path := u.put("dotfiles/"+test.name, string(before))
			link := filepath.Join(u.Home, test.file)
			if err := errors.Join(os.Chmod(path, 0o640), os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(path, link)); err != nil {
				t.Fatal(err)
			}
			change := u.run(Add, test.id, Options{Serve: Serve{Config: "/etc/bulkhead.toml"}})
			after := u.read("dotfiles/" + test.name)
			want, err := os.ReadFile("testdata/" + test.name + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), u.place(after)); diff != "" {
				t.Errorf("(want -, got +)\n%s", diff)
			}
			if text := strings.Join(change.Diff, "\n"); strings.Contains(text, "s3cret") || !strings.Contains(text, "/etc/bulkhead.toml") {
				t.Errorf("the difference contains a secret, or does not contain the path of the config: %s", text)
			}
			if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || u.place(change.Target) != "ROOT/dotfiles/"+test.name {
				t.Errorf("the symbolic link was replaced, or its target is not reported: %v, %v, target %s", info, err, change.Target)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the permissions of the file have changed: %v, %v", info, err)
			}
			if backup, err := os.ReadFile(change.Backup); err != nil || string(backup) != string(before) {
				t.Errorf("the backup differs from the file before the change: %v\n%s", err, backup)
			}
			if info, err := os.Stat(change.Backup); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the backup does not have the mode 0600: %v, %v", info, err)
			}
			if again := u.run(Add, test.id, Options{Serve: Serve{Config: "/etc/bulkhead.toml"}}); again.Action != ActionNone || u.read("dotfiles/"+test.name) != after {
				t.Errorf("adding the same entry again changes the file: %+v", again)
			}
			u.run(Remove, test.id, Options{})
			if diff := cmp.Diff(string(before), u.read("dotfiles/"+test.name)); diff != "" {
				t.Errorf("removing the entry does not restore the file (want -, got +)\n%s", diff)
			}
			if again := u.run(Remove, test.id, Options{}); again.Action != ActionNone {
				t.Errorf("removing the absent entry changes the file: %+v", again)
			}
		})
	}
}

func TestMissingStateDirectoryIsExplained(t *testing.T) {
	for reason, want := range map[string]string{
		"":                                  "set HOME or XDG_STATE_HOME to a directory of yours",
		"it was written by a newer version": "it was written by a newer version",
	} {
		u := newUser(t)
		u.put("home/.cursor/mcp.json", "{}")
		u.State, u.NoState = "", reason
		change, err := u.try(Add, "cursor", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err = change.Apply(t.Context()); err == nil || !strings.HasSuffix(err.Error(), want) || u.read("home/.cursor/mcp.json") != "{}" {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestUpdateKeepsOtherFieldsAndHidesThem(t *testing.T) {
	u := newUser(t)
	u.put("home/.cursor/mcp.json", `{"mcpServers": {"bulkhead": {"command": "/old/bulkhead", "env": {"T": "s3cret"}, "args": ["serve", "--env", "K=s3cret", "--env=L=s3cret"]}}}`)
	u.put("home/.codex/config.toml", "[mcp_servers.bulkhead]\ncommand = \"/old/bulkhead\" # why\nargs = [\n  \"serve\", # s\n]\nstartup_timeout_sec = 20\n\n[mcp_servers.bulkhead.env]\nT = \"s3cret\"\n")
	cursor := u.run(Add, "cursor", Options{})
	want := []string{
		`  "bulkhead": {`,
		`-   "command": "/old/bulkhead",`, `-   "args": ["serve", "--env", "K=…", "--env=L=…"],`,
		`+   "command": "ROOT/bin/bulkhead",`, `+   "args": ["serve"],`, `    "env": …,`, `+   "type": "stdio"`,
		`  }`,
	}
	got := strings.Split(u.place(strings.Join(cursor.Diff, "\n")), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
	if text := u.place(u.read("home/.cursor/mcp.json")); text != `{"mcpServers": {"bulkhead": {"command": "ROOT/bin/bulkhead", "env": {"T": "s3cret"}, "args": ["serve"], "type": "stdio"}}}` {
		t.Errorf("got %s", text)
	}
	if note := strings.Join(cursor.Notes, " "); note != "the entry keeps its other settings (env): review them in the file" {
		t.Errorf("got the notes %s", note)
	}
	codex := u.run(Add, "codex", Options{})
	if text := strings.Join(codex.Diff, "\n"); strings.Contains(text, "s3cret") || !strings.Contains(text, "  env = …") || codex.Action != ActionUpdate {
		t.Errorf("got %s", text)
	}
	if text := u.place(u.read("home/.codex/config.toml")); text != "[mcp_servers.bulkhead]\ncommand = \"ROOT/bin/bulkhead\" # why\nargs = [\"serve\"]\nstartup_timeout_sec = 20\n\n[mcp_servers.bulkhead.env]\nT = \"s3cret\"\n" {
		t.Errorf("got %s", text)
	}
}

func TestFilesThatMustNotBeChangedAreRefused(t *testing.T) {
	tests := map[string]struct{ id, file, text, want string }{
		"JSON":               {"cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": s3cret\n", "ROOT/home/.cursor/mcp.json:3: is not JSON: invalid literal\n  remedy: correct it"},
		"TOML":               {"codex", ".codex/config.toml", "a = 1\nb = \n", "ROOT/home/.codex/config.toml:2: is not TOML: "},
		"list of servers":    {"vscode", ".config/Code/User/mcp.json", "{\n\"servers\": []}", `ROOT/home/.config/Code/User/mcp.json:2: "servers" is not an object`},
		"duplicate":          {"zed", ".config/zed/settings.json", "{\"context_servers\": {},\n\"context_servers\": {}}", `settings.json:2: has a second member "context_servers": remove one of them`},
		"inline TOML":        {"codex", ".codex/config.toml", "mcp_servers = { a = { command = \"s3cret\" } }\n", "ROOT/home/.codex/config.toml: [mcp_servers.bulkhead] cannot be added to the file: write mcp_servers as [mcp_servers.…] tables, or add it by hand"},
		"string in TOML":     {"codex", ".codex/config.toml", "mcp_servers = \"s3cret\"\n", "cannot be added"},
		"another server":     {"cursor", ".cursor/mcp.json", `{"mcpServers": {"bulkhead": {"command": "npx", "args": ["s3cret"]}}}`, `has an entry "bulkhead" that starts another server: choose a different name with --name, or remove the entry from the file`},
		"server at a URL":    {"cursor", ".cursor/mcp.json", `{"mcpServers": {"bulkhead": {"url": "https://s3cret"}}}`, "starts another server"},
		"entry of no object": {"cursor", ".cursor/mcp.json", `{"mcpServers": {"bulkhead": 7}}`, "starts another server"},
	}
	for name, test := range tests {
		u := newUser(t)
		u.put("home/"+test.file, test.text)
		_, err := u.try(Add, test.id, Options{})
		if usage := (*usage.Error)(nil); !errors.As(err, &usage) || !strings.Contains(u.place(err.Error()), test.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got the error %v, want a usage error that contains no secret", name, err)
		}
		if got := u.read("home/" + test.file); got != test.text {
			t.Errorf("%s: the file is now %s", name, got)
		}
	}
	u := newUser(t)
	u.put("home/.cursor/mcp.json", `{"mcpServers": {"bulkhead": {"command": "npx"}}}`)
	if _, err := u.try(Remove, "cursor", Options{}); err == nil || !strings.Contains(err.Error(), "does not start Bulkhead") {
		t.Errorf("removing another server: %v", err)
	}
	if err := os.MkdirAll(u.root+"/home/.gemini/settings.json", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := u.try(Add, "gemini", Options{}); err == nil || u.place(err.Error()) != "ROOT/home/.gemini/settings.json: not a regular file" {
		t.Errorf("Add with a directory in the place of the file: got %v", err)
	}
}

func TestApplyRefusesFileChangedSinceItWasShown(t *testing.T) {
	for name, text := range map[string]string{"changed": `{"a": 1}`, "created": ""} {
		u := newUser(t)
		if text != "" {
			u.put("home/.cursor/mcp.json", text)
		}
		change, err := u.try(Add, "cursor", Options{})
		if err != nil {
			t.Fatal(err)
		}
		u.put("home/.cursor/mcp.json", `{"b": 2}`)
		if err := change.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "has changed since it was read") {
			t.Errorf("%s: Apply after the file has changed: got %v", name, err)
		}
		if got := u.read("home/.cursor/mcp.json"); got != `{"b": 2}` || change.Changed {
			t.Errorf("%s: the file is %s", name, got)
		}
	}
}

func TestLinkOutOfProjectIsRefused(t *testing.T) {
	u := newUser(t)
	outside := u.put("home/.claude.json", `{"numStartups": 1}`)
	if err := os.Symlink(outside, filepath.Join(u.Project, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(u.Home, filepath.Join(u.Project, ".vscode")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"claude-code", "vscode"} {
		if _, err := u.try(Add, id, Options{Scope: ProjectScope}); err == nil || !strings.Contains(err.Error(), "a symbolic link points to") {
			t.Errorf("%s: Add through a symbolic link in the project: got %v", id, err)
		}
	}
	u.Project, u.NoProject = "", "pass --project DIR"
	if _, err := u.try(Add, "cursor", Options{Scope: ProjectScope}); err == nil || err.Error() != "there is no project: pass --project DIR" {
		t.Errorf("without a project: %v", err)
	}
}

func TestNamesAndVariablesThatClientsReadDifferentlyAreRefused(t *testing.T) {
	u := newUser(t)
	for _, name := range []string{"", "a.b", "a b", "ü", strings.Repeat("x", 65), "--help\n"} {
		c, _ := Find("codex")
		if _, err := Add(c, u.System, Options{Scope: UserScope, Name: name}); err == nil || !strings.Contains(err.Error(), "--name") {
			t.Errorf("Add with the name %q: got %v, want an error about --name", name, err)
		}
	}
	for id, dir := range map[string]string{"claude-code": "/a/${b}", "vscode": "/a/${b}", "gemini": "/a/$b", "opencode": "/a/{env:b}"} {
		if _, err := u.try(Add, id, Options{Serve: Serve{Plugins: dir}}); err == nil || !strings.Contains(err.Error(), "would replace") {
			t.Errorf("%s: Add with a variable of the client in a path: got %v", id, err)
		}
	}
	if _, err := u.try(Add, "codex", Options{Serve: Serve{Plugins: "/a/${b}"}}); err != nil {
		t.Errorf("Add for codex, which expands no variables: got %v", err)
	}
	if _, err := Find("claude"); err == nil || !strings.Contains(err.Error(), "the clients are claude-code, claude-desktop, ") {
		t.Errorf("an unknown client: %v", err)
	}
}

func TestNotesNameWhatTheServerLacks(t *testing.T) {
	u := newUser(t)
	change, err := u.try(Add, "claude-desktop", Options{})
	if err != nil || len(change.Notes) != 2 || !strings.Contains(strings.Join(change.Notes, " "), "--project DIR") {
		t.Errorf("got %+v, %v", change, err)
	}
	change, err = u.try(Add, "claude-desktop", Options{Serve: Serve{Project: "/p", Config: "/c"}})
	if err != nil || len(change.Notes) != 0 {
		t.Errorf("got %+v, %v", change, err)
	}
}
