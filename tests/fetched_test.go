//go:build unix

package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
)

// packPluginDir returns the archive of a built plugin, whose manifest replace changes.
func packPluginDir(t *testing.T, dir string, replace *strings.Replacer) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []archive.File
	for _, e := range entries {
		text := readFile(t, filepath.Join(dir, e.Name()))
		if e.Name() == "plugin.toml" {
			text = replace.Replace(text)
		}
		files = append(files, archive.File{Name: e.Name(), Data: []byte(text)})
	}
	data, err := archive.Encode(files)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestServerFollowsUpdate updates a fetched plugin under a running server, which keeps the former version while the new one is missing.
func TestServerFollowsUpdate(t *testing.T) {
	t.Parallel()
	hello := filepath.Join(built.plugins(t), "hello")
	dir := newDir(t, map[string]string{
		"hello-0.1.0.tar": packPluginDir(t, hello, strings.NewReplacer()),
		"hello-0.1.1.tar": packPluginDir(t, hello, strings.NewReplacer(`"0.1.0"`, `"0.1.1"`, "Greet a person by name", "Greet somebody")),
	})
	config := filepath.Join(dir, "bulkhead.toml")
	run := func(args ...string) {
		t.Helper()
		cmd := programCommand(t, append(args, "--config", config)...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "XDG_DATA_HOME="+filepath.Join(dir, "data"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	run("add", "hello-0.1.0.tar", "--yes")
	cmd := programCommand(t, "serve", "--project", dir, "--config", config)
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "XDG_DATA_HOME="+filepath.Join(dir, "data"))
	s := &liveServer{startServer(t, cmd), dir, config}
	s.ask(initializeLine)
	if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
		t.Error(text)
	}

	run("update", "--yes")
	s.wantToolsChanged()
	if list := s.ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`); !strings.Contains(list, "Greet somebody") {
		t.Errorf("the server does not list the new version: %s", list)
	}
	if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
		t.Error(text)
	}

	// The config pins what the store does not have: the server fetches nothing, and serves what it had.
	text := readFile(t, config)
	at := strings.Index(text, "sha256 = \"") + len("sha256 = \"")
	replace(t, config, text[:at]+strings.Repeat("0", 64)+text[at+64:])
	s.waitForLog("the plugin is not on this machine")
	if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
		t.Error(text)
	}
	s.end()
}
