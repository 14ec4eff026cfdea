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
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			home, project := filepath.Join(root, "home"), filepath.Join(root, "app")
			putFile(t, filepath.Join(project, ".git/HEAD"), "ref: refs/heads/main\n")
			trusted, err := json.Marshal(map[string]string{project: "TRUST_FOLDER"})
			if err != nil {
				t.Fatal(err)
			}
			putFile(t, filepath.Join(home, ".gemini/trustedFolders.json"), string(trusted))
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
				cmd.Dir = project
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME="+built.cache(t), "CLAUDE_CONFIG_DIR=", "CODEX_HOME=",
					"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
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
