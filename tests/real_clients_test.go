//go:build unix

package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealClients adds the server to clients and asks them. Set BULKHEAD_REAL_CLIENTS=1 to run it with those of Claude Code, Codex,
// Gemini CLI and opencode that are in PATH. They get a home directory of their own, and need neither a network nor an account.
func TestRealClients(t *testing.T) {
	if os.Getenv("BULKHEAD_REAL_CLIENTS") == "" {
		t.Skip("BULKHEAD_REAL_CLIENTS is not set")
	}
	tests := []struct {
		id      string
		list    []string // command that prints the state of the servers
		want    []string // what that output must contain
		project string   // the same, after an entry was added to the project's config
	}{
		{"claude-code", []string{"claude", "mcp", "list"}, []string{"Connected"}, "Pending approval"},
		{"codex", []string{"codex", "mcp", "get", "--json", "bulkhead"}, []string{`"enabled": true`, `"serve"`}, ""},
		{"gemini", []string{"gemini", "mcp", "list"}, []string{"Connected"}, "Connected"},
		{"opencode", []string{"opencode", "mcp", "list"}, []string{"connected"}, "connected"},
	}
	for _, test := range tests {
		t.Run(test.id, func(t *testing.T) {
			if _, err := exec.LookPath(test.list[0]); err != nil {
				t.Skip(err)
			}
			home, project := realClientHome(t)
			run := func(args ...string) string { return runRealClient(t, home, project, nil, args...) }
			check := func(want ...string) {
				t.Helper()
				if out := run(test.list...); !containsAll(out, want...) {
					t.Errorf("%s does not print %q:\n%s", strings.Join(test.list, " "), want, out)
				}
			}
			run(built.program(t), "client", "add", test.id, "--yes", "--plugins", built.plugins(t), "--project", project)
			check(test.want...)
			if out := run(built.program(t), "client", "add", test.id, "--yes", "--plugins", built.plugins(t), "--project", project); !strings.Contains(out, "has this entry already") {
				t.Errorf("adding it again: %s", out)
			}
			if out := run(built.program(t), "client", "list", test.id); strings.Contains(out, "problem") {
				t.Errorf("list: %s", out)
			}
			run(built.program(t), "client", "remove", test.id, "--yes")
			if test.project == "" {
				return
			}
			if out := run(test.list...); strings.Contains(out, "bulkhead:") || strings.Contains(out, "✓ bulkhead") {
				t.Errorf("after it was removed: %s", out)
			}
			run(built.program(t), "client", "add", test.id, "--yes", "--scope", "project", "--plugins", built.plugins(t))
			check(test.project)
		})
	}
}

// realClientHome returns a home directory for clients and a project that they trust.
func realClientHome(t *testing.T) (home, project string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project = filepath.Join(root, "home"), filepath.Join(root, "app")
	putFile(t, filepath.Join(project, ".git/HEAD"), "ref: refs/heads/main\n")
	trusted, err := json.Marshal(map[string]string{project: "TRUST_FOLDER"})
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(home, ".gemini/trustedFolders.json"), string(trusted))
	return home, project
}

// runRealClient runs a command in a project and returns its output.
func runRealClient(t *testing.T, home, project string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME="+built.cache(t), "CLAUDE_CONFIG_DIR=", "CODEX_HOME=",
		"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestRealClientsConnectToURL has the clients connect to a server over HTTP with the token of a variable, and fail without it.
func TestRealClientsConnectToURL(t *testing.T) {
	if os.Getenv("BULKHEAD_REAL_CLIENTS") == "" {
		t.Skip("BULKHEAD_REAL_CLIENTS is not set")
	}
	config := filepath.Join(t.TempDir(), "bulkhead.toml")
	putFile(t, config, "[[plugins]]\npath = \""+builtPlugins(t, "testdata/guests/surface")+"/surface\"\n")
	url, headers := serveWithToken(t, config)
	token := "BULKHEAD_TEAM=" + strings.TrimPrefix(headers["Authorization"], "Bearer ")
	tests := []struct {
		id, file  string
		list      []string
		connected string
	}{
		{"claude-code", ".claude.json", []string{"claude", "mcp", "list"}, "Connected"},
		{"codex", ".codex/config.toml", []string{"codex", "mcp", "get", "--json", "bulkhead"}, `"bearer_token_env_var": "BULKHEAD_TEAM"`},
		{"gemini", ".gemini/settings.json", []string{"gemini", "mcp", "list"}, "Connected"},
		{"opencode", ".config/opencode/opencode.json", []string{"opencode", "mcp", "list"}, "connected"},
	}
	for _, test := range tests {
		t.Run(test.id, func(t *testing.T) {
			if _, err := exec.LookPath(test.list[0]); err != nil {
				t.Skip(err)
			}
			home, project := realClientHome(t)
			run := func(env []string, args ...string) string { return runRealClient(t, home, project, env, args...) }
			add := []string{built.program(t), "client", "add", test.id, "--yes", "--url", url, "--token-env", "BULKHEAD_TEAM"}
			run(nil, add...)
			if out := run([]string{token}, test.list...); !strings.Contains(out, test.connected) || strings.Contains(out, "Disconnected") {
				t.Errorf("with the token: %s", out)
			}
			if test.id != "codex" { // which does not connect here
				if out := run(nil, test.list...); strings.Contains(out, " "+test.connected) && !strings.Contains(out, "Disconnected") {
					t.Errorf("without the token: %s", out)
				}
			}
			if out := run(nil, add...); !strings.Contains(out, "has this entry already") {
				t.Errorf("adding it again: %s", out)
			}
			if out := run(nil, built.program(t), "client", "list", test.id); strings.Contains(out, "problem") || !strings.Contains(out, url) {
				t.Errorf("list: %s", out)
			}
			run(nil, built.program(t), "client", "remove", test.id, "--yes")
			if text := readFile(t, filepath.Join(home, test.file)); strings.Contains(text, url) {
				t.Errorf("after the entry was removed: %s", text)
			}
		})
	}
}
