package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// install makes a program that records its arguments and working directory in the file "calls", and then runs script.
func (u *user) install(name, script string) {
	u.t.Helper()
	path := u.put("bin/"+name, "#!/bin/sh\necho \"$PWD: $*\" >>"+u.root+"/calls\n"+script)
	if err := os.Chmod(path, 0o700); err != nil {
		u.t.Fatal(err)
	}
	u.LookPath = func(program string) (string, error) {
		if path := filepath.Join(u.root, "bin", program); u.exists(path) {
			return path, nil
		}
		return "", fs.ErrNotExist
	}
}

func TestOwnCommandOfClientIsUsed(t *testing.T) {
	u := newUser(t)
	u.install("claude", `case $2 in
add) echo '{"mcpServers": {"bulkhead": {"type": "stdio", "command": "'"$7"'", "args": ["serve"], "env": {}}}}' >"$HOME"/.claude.json ;;
remove) echo '{"mcpServers": {}}' >"$HOME"/.claude.json ;;
esac`)
	t.Setenv("HOME", u.Home)
	added := u.run(Add, "claude-code", Options{})
	if again := u.run(Add, "claude-code", Options{}); again.Action != ActionNone {
		t.Errorf("adding the same entry again changes the file: %+v", again)
	}
	removed := u.run(Remove, "claude-code", Options{})
	want := "ROOT/home: mcp add --scope user bulkhead -- ROOT/bin/bulkhead serve\nROOT/home: mcp remove --scope user bulkhead\n"
	if got := u.place(u.read("calls")); got != want {
		t.Errorf("got the calls of the client's program %s", got)
	}
	if line := u.place(added.CommandLine()); line != "claude mcp add --scope user bulkhead -- ROOT/bin/bulkhead serve" {
		t.Errorf("command line: %s", line)
	}
	if removed.Backup == "" || !removed.Changed {
		t.Errorf("Remove made no change, or no backup: %+v", removed)
	}

	// An entry that exists is edited in place: its other fields stay.
	u.put("home/.claude.json", `{"mcpServers": {"bulkhead": {"command": "/old/bulkhead", "env": {"A": "b"}}}}`)
	u.run(Add, "claude-code", Options{})
	if got := u.read("home/.claude.json"); !strings.Contains(got, `"env": {"A": "b"}`) || u.place(u.read("calls")) != want {
		t.Errorf("got %s, calls %s", got, u.read("calls"))
	}
	// In a project the command is not used, since it would change the rest of the file.
	u.run(Add, "claude-code", Options{Scope: ProjectScope})
	if got := u.place(u.read("calls")); got != want {
		t.Errorf("adding to a project called the client's program: %s", got)
	}
}

func TestOwnCommandThatDropsCommentsIsNotUsed(t *testing.T) {
	u := newUser(t)
	u.install("codex", `printf '[mcp_servers.bulkhead]\ncommand = "%s"\nargs = ["serve"]\n' "$5" >>"$HOME"/.codex/config.toml`)
	t.Setenv("HOME", u.Home)
	u.put("home/.codex/config.toml", "model = \"x\" # mine\n")
	if change := u.run(Add, "codex", Options{}); change.Command != nil || u.exists(u.root+"/calls") {
		t.Errorf("got %+v", change)
	}
	u.put("home/.codex/config.toml", "model = \"x\"\n")
	if change := u.run(Add, "codex", Options{}); u.place(u.read("calls")) != "ROOT/home: mcp add bulkhead -- ROOT/bin/bulkhead serve\n" || !change.Changed {
		t.Errorf("got %+v", change)
	}
}

func TestOwnCommandThatDoesNotMakeTheChangeIsAnError(t *testing.T) {
	for script, want := range map[string]string{
		"echo not now >&2; exit 3": "`claude mcp add` of Claude Code failed: exit status 3: not now",
		"exit 0":                   "`claude mcp add` of Claude Code failed: the file does not contain the change",
	} {
		u := newUser(t)
		u.install("claude", script)
		change, err := u.try(Add, "claude-code", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := change.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), want) || change.Changed {
			t.Errorf("Apply with the client's program %s: got %v", script, err)
		}
	}
}

func TestListFindsEntriesAndTheirProblems(t *testing.T) {
	u := newUser(t)
	u.install("gemini", "")
	u.put("other/bulkhead", "")
	u.put("bulkhead.toml", "")
	u.put("home/.cursor/mcp.json", `{"mcpServers": {
		"bulkhead": {"command": "`+u.Program+`", "args": ["serve", "--config", "`+u.root+`/bulkhead.toml", "--project", "${workspaceFolder}"]},
		"gone": {"command": "/nowhere/bulkhead", "args": ["serve", "--config=/nowhere/b.toml", "--env", "A=s3cret"]},
		"off": {"command": "`+u.root+`/other/bulkhead", "args": ["--project", "sub"], "disabled": true},
		"theirs": {"command": "npx", "env": {"A": "s3cret"}}}}`)
	u.put("home/.codex/config.toml", "x = ")
	byFile := map[string]Status{}
	for _, s := range List(u.System, nil) {
		byFile[s.Client+" "+string(s.Scope)] = s
	}
	if len(byFile) != 17 {
		t.Errorf("List returned %d files, want 17", len(byFile))
	}
	cursor := byFile["cursor user"]
	if !cursor.Installed || !cursor.Exists || cursor.Healthy() || len(cursor.Entries) != 3 || cursor.Entries[0].Problems != nil {
		t.Fatalf("got %+v", cursor)
	}
	if got := strings.Join(cursor.Entries[1].Problems, "; "); u.place(got) != "starts /nowhere/bulkhead, which does not exist; this program is ROOT/bin/bulkhead; --config /nowhere/b.toml does not exist" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(cursor.Entries[2].Problems, "; "); u.place(got) != "starts ROOT/other/bulkhead instead of this program, ROOT/bin/bulkhead; does not run serve; --project sub is not an absolute path; is disabled" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(cursor.Entries[1].Args, " "); strings.Contains(got, "s3cret") {
		t.Errorf("got %s", got)
	}
	if codex := byFile["codex user"]; codex.Healthy() || !strings.Contains(u.place(codex.Problem), "ROOT/home/.codex/config.toml:1: ") {
		t.Errorf("got %+v", codex)
	}
	if gemini := byFile["gemini project"]; !gemini.Installed || gemini.Exists || !gemini.Healthy() {
		t.Errorf("got %+v", gemini)
	}
	if got := Installed(u.System, ProjectScope); len(got) != 3 || got[0].ID != "cursor" || got[1].ID != "codex" || got[2].ID != "gemini" {
		t.Errorf("Installed returned %v, want cursor, codex and gemini", got)
	}
}

func TestStableNameSurvivesUpgrade(t *testing.T) {
	u := newUser(t)
	cellar := u.put("Cellar/bulkhead/1.2.3/bin/bulkhead", "program")
	link := u.root + "/opt/bin/bulkhead"
	if err := errors.Join(os.Chmod(cellar, 0o700), os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(cellar, link)); err != nil {
		t.Fatal(err)
	}
	u.put("usr/bin/bulkhead", "another program")
	path := "relative:" + u.root + "/usr/bin:" + u.root + "/opt/bin"
	for _, test := range []struct{ argv0, path, want string }{
		{"bulkhead", path, link},
		{cellar, path, link},
		{link, "", link},
		{"/gone/bulkhead", "", cellar},
		{cellar, u.root + "/usr/bin", cellar},
	} {
		if got, err := stableName(cellar, test.argv0, test.path); err != nil || got != test.want {
			t.Errorf("%s, PATH %s: got %s, %v", test.argv0, test.path, u.place(got), err)
		}
	}
	temporary := u.put("go-build12/b001/exe/bulkhead", "")
	if _, err := stableName(temporary, temporary, ""); err == nil || !strings.Contains(err.Error(), "is a temporary file of `go run`") {
		t.Errorf("go run: %v", err)
	}
}

func TestProgramInCacheOfRunnerIsReported(t *testing.T) {
	for path, want := range map[string]string{
		"/home/ann/.npm/_npx/0123456789abcdef/node_modules/@bulkhead-mcp/linux-x64/bulkhead":                "`npx -y bulkhead-mcp serve`",
		"/home/ann/.cache/uv/archive-v0/a1B2/lib/python3.13/site-packages/bulkhead_mcp/bulkhead":            "`uvx bulkhead-mcp serve`",
		"/srv/cache/environments-v2/x/bin/bulkhead":                                                         "`uvx bulkhead-mcp serve`",
		"/home/ann/.cache/pnpm/dlx/0123/18f/node_modules/@bulkhead-mcp/linux-x64/bulkhead":                  "`pnpm dlx bulkhead-mcp serve`",
		"/tmp/bunx-1000-bulkhead-mcp@latest/node_modules/@bulkhead-mcp/linux-x64/bulkhead":                  "`bunx bulkhead-mcp serve`",
		"/home/ann/.cache/pipx/0123456789abcde/lib/python3.13/site-packages/bulkhead_mcp/bulkhead":          "`pipx run bulkhead-mcp serve`",
		"/home/ann/.local/pipx/.cache/0123456789abcde/lib/python3.13/site-packages/bulkhead_mcp/bulkhead":   "`pipx run bulkhead-mcp serve`",
		"/usr/local/lib/node_modules/@bulkhead-mcp/linux-x64/bulkhead":                                      "",
		"/home/ann/.local/share/uv/tools/bulkhead-mcp/lib/python3.13/site-packages/bulkhead_mcp/bulkhead":   "",
		"/home/ann/.local/share/pipx/venvs/bulkhead-mcp/lib/python3.13/site-packages/bulkhead_mcp/bulkhead": "",
		"/home/ann/.local/share/pnpm/global/5/.pnpm/@bulkhead-mcp+linux-x64@1.2.3/node_modules/bulkhead":    "",
		"/home/ann/_npx": "",
		"bulkhead":       "",
	} {
		if got := (System{Program: path}).Warning(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
