//go:build unix

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestCommandsPage builds and calls the program of docs/commands.md with the commands of the page.
func TestCommandsPage(t *testing.T) {
	testenv.All(t, "starts the go command")
	page := readFile(t, "../docs/commands.md")
	dir := newDir(t, map[string]string{"README.md": "Ripe apples, and an old pear tree.\n", "-dash.md": "one\n"})
	source := filepath.Join(dir, "words")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	commands := ""
	for _, b := range guide.Blocks(page) {
		switch b.Label {
		case "main.go", "go.mod", "plugin.toml":
			if err := os.WriteFile(filepath.Join(source, b.Label), []byte(b.Text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "Build it, and call it in a project":
			commands = b.Text
		}
	}
	env := append(environment(t), goEnvironment(t)...)
	shell := func(script string) (string, error) {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir, cmd.Env = dir, append(env, "PATH="+filepath.Dir(built.program(t))+":"+os.Getenv("PATH"))
		out, err := cmd.Output()
		return string(out), err
	}
	out, err := shell(commands)
	if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "4 words") { // Ripe, apples, pear, tree
		t.Fatalf("%s: got %q, %v", commands, out, err)
	}
	call := "bulkhead call count_words --plugins dist/plugins --project . --arg paths="
	if out, err := shell(call + `'["-dash.md","README.md"]'`); err != nil || strings.TrimSpace(out) != "8 words" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := shell(call + `'["missing"]'`); err == nil {
		t.Errorf("a missing file: got %q, want an error", out)
	}
	if out, err := shell("bulkhead plugin check words && bulkhead plugin inspect dist/plugins/words/words.wasm"); err != nil || !strings.Contains(out, "count_words") || !strings.Contains(out, "a WASI command") {
		t.Errorf("got %q, %v", out, err)
	}
}
